// --- field of an argument
class P<string s> { string t = s; }
class A<P x> { string r = "text" # x.t; string l = x.t # "text"; string b = "a" # x.t # "z"; }
def a : A<P<"in">>;
// --- element of a list
class A<list<string> x> { string r = "t" # x[1]; string q = "t" # x[0] # x[2]; }
def a : A<["x", "y", "z"]>;
// --- element of an int list
class A<list<int> x> { string r = "t" # x[1]; }
def a : A<[4, 5]>;
// --- list with a field
class P { list<int> l = [7, 8]; }
class A<P x> { list<int> r = [1] # x.l; list<int> q = x.l # [2]; list<int> w = x.l # x.l; }
def p : P;
def a : A<p>;
// --- list with a global record's field
class P { list<int> l = [7, 8]; }
def p : P;
def a { list<int> r = [1] # p.l; list<int> q = p.l # p.l # [3]; }
// --- list with a global variable
defvar v = [1, 2];
def a { list<int> r = [0] # v; list<int> q = v # v; list<int> s = v # [3] # v; }
// --- verbatim name and a global variable
defvar v = "value";
def a { string r = "t" # v; string q = v # "t"; string s = v # v; }
// --- verbatim def name and a global variable
defvar v = "value";
def v2 { int i = 1; }
def x # v { int i = 2; }
// --- def name that is itself a variable
defvar v = "value";
def v : { }
// --- def name equals a variable
defvar v = "value";
def v { int i = 3; }
// --- defm name and a global variable
defvar v = "value";
multiclass M { def _a { int i = 1; } }
defm x # v : M;
// --- defm name equals a variable
defvar v = "value";
multiclass M { def _a { int i = 1; } }
defm v : M;
// --- verbatim name and a record
def r1;
def a { string r = "t" # r1; string q = "t" # nothing; }
// --- record on the left
def r1;
def a { string r = r1 # "t"; }
// --- loop variable before a global
foreach v = ["p", "q"] in { def a # v { string r = "t" # v; string s = v # "t"; } }
// --- local variable in a body
def a { defvar v = "loc"; string r = "t" # v; string s = v # v # "x"; }
// --- field in a name
class A<string n> { string f = n; string g = "g" # f # n; }
def a : A<"k"> { let f = "late"; }
// --- numbers
def a { string r = "t" # 1; string q = 1 # "t"; string s = 1 # 2; string h = "h" # 0x10; }
// --- bit and bits
class A<bit b, bits<4> c> { string r = "t" # b; string q = "t" # c; }
def a : A<1, 5>;
// --- trailing paste
def a # { int i = 1; }
def "b" # : { }
// --- trailing paste before a semicolon
def a { string r = "x" #; }
// --- operator on the right
class A<int n> { string r = "t" # !add(n, 1); string s = "t" # !cast<string>(n) # "u"; }
def a : A<4>;
// --- NAME
class A { string r = NAME # "_x"; string s = "x_" # NAME; }
def a : A;
multiclass M { def q : A { string t = NAME # "_m"; } }
defm d : M;
// --- name of a def by an expression
foreach i = 0-2 in def "a" # i # "_" # !add(i, 1) { int v = i; }
// --- name in parentheses of a string
def "quoted" { int i = 1; }
def "q" # "r" # 1 { int i = 2; }
// --- list of an argument
class A<list<int> l, list<int> m> { list<int> r = l # m; list<int> s = l # [9] # m; int n = !size(l # m); }
def a : A<[1], [2, 3]>;
// --- list in a loop
foreach l = [[1], [2, 3]] in def "a" # !size(l) { list<int> r = l # [0]; list<int> s = [0] # l; }
// --- code and string
class A<string s> { code c = [{x }] # s # [{ y}]; }
def a : A<"m">;
// --- anonymous instance's field
class P<int n> { string t = "p" # n; }
def a { string r = "x" # P<3>.t; string s = P<4>.t # "x"; }
// --- multiclass argument
multiclass M<string s, list<string> l> { def NAME # s { string r = "t" # s; string q = "t" # l[1]; } def _z { string r = s # l[0]; } }
defm d : M<"_k", ["a", "b"]>;
// --- variable of a multiclass
defvar v = "glob";
multiclass M<string s> { defvar w = s # "w"; def _a { string r = "t" # w; string q = "t" # v; } def w; }
defm d : M<"_k">;
// --- bits after a paste
class A<bits<8> b> { string r = "t" # b{3-0}; }
def a : A<0x25>;
// --- field of self
class A { string f = "f"; string r = "t" # f; }
def a : A { let f = "h"; }
// --- empty list
def a { list<int> r = [] # [1]; list<int> q = []<int> # [2]; list<int> s = [3] # []; }
// --- conditional list on the left
class A<bit b> { list<int> r = !if(b, [1], [2, 3]) # [4]; list<int> s = !listconcat([5], [6]) # r; }
def a : A<1>;
def b : A<0>;
// --- nested braces
class A<list<int> l> { list<string> r = ["t" # l[0], "u" # l[1]]; dag d = (o ("t" # 1):$x); }
def o;
// --- variable named as a field elsewhere
defvar f = "global";
class A { string f = "field"; string r = "t" # f; }
def a : A;
def b { string r = "t" # f; string s = f; }
