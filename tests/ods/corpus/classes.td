// Classes, template arguments, let, late binding of fields, diamonds of values.
class Base<int n, string s = "none"> {
  int number = n;
  string text = s;
  string both = text # "-" # number;
  list<int> numbers = [n, !add(n, 1)];
  bit flag = 0;
}
class Middle<int n> : Base<!mul(n, 2)> {
  let text = "middle";
  int extra = number;
}
def plain : Base<1>;
def named : Base<2, "two">;
def derived : Middle<3> { let flag = 1; let text = "own"; }
let flag = 1, text = "outer" in {
  def inLet : Base<4>;
  def inLetWithOwn : Base<5> { let text = "inner"; }
  class LetClass<int n> : Base<n>;
}
def fromLetClass : LetClass<6>;
class Forward;
class User { Forward f = ?; list<Forward> many = []; }
class Forward { int x = 7; }
def forward : Forward;
def user : User { let f = forward; let many = [forward, forward]; }
def anonymousUser { Base b = Base<8, "anon">; Base same = Base<8, "anon">; int viaField = Base<9>.number; }
def unsetFields { int a; string b; bits<4> c; list<int> d; dag e; bit f = ?; }
def concrete { defvar twice = !add(2, 2); int value = twice; }
def "quoted" # "Name" { code body = [{ return "x"; }]; }
def strings { string s = "a" "b\n\t\"c\"" "\\"; }
def numbers { int a = 0x1F; int b = 0b101; int c = -12; int d = +3; int e = 0xFFFFFFFFFFFFFFFF; }
def ins;
class Late { dag input = (ins); dag attrs = (ins); dag arguments = !con(input, attrs); }
def late : Late { let input = (ins 1:$x); let attrs = (ins 2:$a); }
