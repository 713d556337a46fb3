class Inst<int opc, string text> { int opcode = opc; string asm = text; bit commutable = 0; }
class Tagged { string tag = "none"; }
multiclass Binary<int opc, string text> {
  def rr : Inst<opc, text # " r, r">;
  def ri : Inst<!add(opc, 1), text # " r, i"> { let commutable = 1; }
}
defm ADD : Binary<1, "add">;
let commutable = 1 in defm SUB : Binary<10, "sub">, Tagged;
multiclass Nested<string text> {
  defm _a : Binary<20, text>;
  defm NAME # _b : Binary<30, text>;
  def "" : Inst<40, NAME>;
  def _ref { Inst first = !cast<Inst>(NAME # "_arr"); }
}
defm Deep : Nested<"deep">;
multiclass Parent<int n> { def P : Inst<n, "parent">; }
multiclass Child<int n> : Parent<!add(n, 100)> { def C : Inst<n, "child">; }
defm Fam : Child<5>;
foreach i = 0-2 in def Reg#i { int number = i; }
foreach i = [1, 2] in {
  foreach j = {3, 5-6} in def Pair#i#_#j { int sum = !add(i, j); }
  defvar square = !mul(i, i);
  def Sq#i { int value = square; }
}
if !eq(1, 1) then { def Yes; } else { def No; }
if 0 then def Never; else def Otherwise;
defset list<Inst> Collected = { def X1 : Inst<1, "x">; def X2 : Inst<2, "y">; }
def uses { list<Inst> all = Collected; int count = !size(Collected); }
multiclass Looped<list<int> xs> { foreach x = xs in { def _#x : Inst<x, "loop">; if !gt(x, 1) then def _big#x; } }
defm L : Looped<[1, 2]>;
defvar global = [1, 2, 3];
def readsGlobal { list<int> g = global; }
assert !eq(!size(global), 3), "three of them";
class Checked<int n> { assert !gt(n, 0), "n must be positive, not " # n; int value = n; }
def checked : Checked<4>;
