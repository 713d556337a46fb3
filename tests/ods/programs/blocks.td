// --- nested foreach
foreach i = [1, 2] in foreach j = ["a", "b"] in def n # i # j { int v = i; string s = j # i; }
// --- nested foreach over the outer variable
foreach l = [[1, 2], [3]] in foreach i = l in def n # i { int v = i; int z = !size(l); }
// --- foreach over ranges
foreach i = {0-2, 5, 8...9} in def n # i { int v = i; }
foreach i = 3-1 in def m # i { int v = i; }
// --- foreach over !range
foreach i = !range(3) in def n # i { int v = i; }
foreach i = !range(1, 7, 2) in def m # i;
// --- foreach over records
class A<int x> { int f = x; }
def a : A<1>; def b : A<2>;
foreach r = [a, b] in def r # "_x" { int v = r.f; A self = r; string n = "n" # r; }
// --- foreach with a local variable
foreach i = 0-1 in { defvar d = !mul(i, 10); def n # d { int v = d; } if !eq(i, 1) then { defvar e = !add(d, 1); def m # e; } }
// --- if and else
foreach i = 0-3 in { if !lt(i, 2) then def lo # i; else if !eq(i, 2) then def mid # i; else def hi # i; }
// --- if in a multiclass
multiclass M<bit b, int n = 5> { if b then { def _t { int v = n; } } else { def _f { int v = n; } } }
defm a : M<1>;
defm b : M<0, 8>;
// --- let in a multiclass
class A { int f = 1; int g = 2; }
multiclass M<int n> { let f = n in { def _a : A; let g = !add(n, 1) in def _b : A; } def _c : A { let g = n; } }
defm d : M<7>;
let g = 99 in defm e : M<8>;
// --- multiclass inheritance
class A<int x> { int f = x; }
multiclass M<int n> { def _m : A<n>; }
multiclass N<int n, int k = 3> : M<!add(n, k)> { def _n : A<n>; }
multiclass O<int n> : M<n>, N<n, 1>;
defm a : N<1>;
// --- defm in a multiclass
class A<int x> { int f = x; string n = NAME; }
multiclass M<int n> { def _m : A<n>; def x # NAME : A<0>; def NAME # _y : A<1>; }
multiclass N<int n> { defm _i : M<n>; defm NAME # _j : M<!add(n, 1)>; defm "" : M<5>; }
defm a : N<1>;
// --- defm with a class
class A<int x> { int f = x; }
class T { int t = 4; int u = t; }
multiclass M<int n> { def _m : A<n>; def _k : A<!add(n, 1)>; }
defm a : M<1>, T;
let t = 8 in defm b : M<2>, T;
// --- defm of several multiclasses
class A<int x> { int f = x; }
multiclass M<int n> { def _m : A<n>; }
multiclass N<int n> { def _n : A<n>; }
defm a : M<1>, N<2>;
// --- foreach in a multiclass
class A<int x> { int f = x; }
multiclass M<list<int> l> { foreach i = l in { def _ # i : A<i>; defvar j = !add(i, 1); def NAME # "_j" # j : A<j>; } }
defm a : M<[1, 4]>;
// --- defset
class A<int x> { int f = x; }
defset list<A> all = { def a : A<1>; def b : A<2>; foreach i = 3-4 in def c # i : A<i>; }
def z { list<A> l = all; list<int> fs = !foreach(r, all, r.f); int n = !size(all); }
// --- defset with defm and a nested one
class A<int x> { int f = x; }
multiclass M { def _a : A<1>; def _b : A<2>; }
defset list<A> outer = { def p : A<0>; defset list<A> inner = { defm d : M; } def q : A<9>; }
def z { list<A> o = outer; list<A> i = inner; }
// --- anonymous def
class A<int x> { int f = x; }
def : A<1>;
defset list<A> all = { def : A<2>; def n : A<3>; }
def z { list<int> l = !foreach(a, all, a.f); }
// --- anonymous defm
class A<int x> { int f = x; }
multiclass M { def foo : A<1>; def NAME # bar : A<2>; }
defset list<A> all = { defm : M; }
def z { list<int> l = !foreach(a, all, a.f); }
// --- assert at the top
defvar n = 3;
assert !eq(n, 3), "n is " # n;
def a;
// --- failed assert at the top
assert !eq(1, 2), "no";
// --- failed assert in a multiclass
multiclass M<int n> { assert !eq(n, 2), "no"; def _a; }
defm x : M<1>;
// --- scopes of defvar
defvar x = 1;
foreach i = [0] in { defvar y = 2; def a { int v = x; int w = y; } }
def b { int v = x; }
// --- defvar hides a global in a block
defvar x = 1;
foreach i = [0] in { defvar x = 2; def a { int v = x; } }
def b { int v = x; }
// --- defvar hides a global in a body
defvar x = 1;
def a { defvar x = 2; int v = x; }
// --- defvar in let-in braces
class A { int f = 0; }
let f = 1 in { defvar q = 5; def a : A { int v = q; } }
// --- loop variable hides a defvar
defvar i = 10;
foreach i = [1, 2] in def n # i { int v = i; }
def z { int v = i; }
// --- template argument hides a defvar
defvar x = 10;
class A<int x> { int f = x; }
def a : A<1>;
multiclass M<int x> { def _a { int f = x; } }
defm d : M<2>;
// --- field hides a defvar
defvar f = 10;
class A { int f = 1; int g = f; }
def a : A;
def b { int g = f; }
// --- defvar twice
defvar x = 1;
defvar x = 2;
// --- record in a multiclass by its full name
class A<int x> { int f = x; }
class R<A a> { int g = a.f; A h = a; }
multiclass M<int n> { def _a : A<n>; def _r : R<!cast<A>(NAME # "_a")>; }
defm d : M<6>;
// --- record in a loop by its name
class A { int f = 1; }
foreach i = 0-1 in { def a # i : A { let f = i; } def b # i { A x = !cast<A>("a" # i); int g = !cast<A>("a" # i).f; } }
// --- empty multiclass argument list and let through defm
class A { int f = 1; bits<4> b = 0; }
multiclass M { def _a : A; }
let b{1} = 1 in defm d : M;
// --- defm name from an expression
class A { string n = NAME; }
multiclass M { def "" : A; def _x : A; }
foreach i = 0-1 in defm "d" # i : M;
// --- multiclass default from an earlier argument
multiclass M<string s, string t = s # "t"> { def _a { string u = t; } }
defm d : M<"x">;
defm e : M<"x", "y">;
// --- if over bits and unset else
foreach b = [true, false] in { if b then def t; if !not(b) then { def f; } }
// --- foreach over an empty list
foreach i = []<int> in def n # i;
def z;
// --- defvar with a record and its fields
class A { int f = 3; list<string> l = ["p", "q"]; }
def a : A;
defvar v = a;
def b { int g = v.f; string s = v.l[1]; A x = v; }
