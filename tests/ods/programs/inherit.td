// --- field of an earlier parent
def f;
class A<int x> { int f = x; }
class B<int y> { int g = y; }
def a : A<1>, B<f>;
def b : A<1>, B<!add(f, 1)> { let f = 5; }
// --- field of an earlier parent hides a variable
defvar f = 42;
class A<int x> { int f = x; }
class B<int y> { int g = y; }
def a : A<1>, B<f>;
class C : A<2>, B<f>;
def c : C;
// --- field of an earlier parent, in a class with a let
class A<int x> { int f = x; }
class B<int y> { int g = y; int h = !mul(y, 2); }
class C<int z> : A<z>, B<f> { let f = !add(z, 10); }
def a : C<3>;
def b : C<3> { let f = 7; }
// --- field of an earlier parent in a multiclass
class A<int x> { int f = x; }
class B<int y> { int g = y; }
multiclass M<int n> { def _a : A<n>, B<f>; def _b : A<n>, B<!add(f, n)> { let f = 9; } }
defm d : M<4>;
// --- let in front of a class with fields
class A { int f = 1; int g = f; }
let f = 3 in def a : A;
let f = 3, g = 4 in { def b : A; def c : A { let f = 6; } }
let f = 3 in { let f = 8 in def d : A; def e : A; }
// --- let on a class
class A { int f = 1; int g = !add(f, 1); }
let f = 2 in class B : A;
def b : B;
let f = 5 in def c : B;
// --- bit range in a top-level let
class A { bits<8> b = 0; bits<8> c = 0xff; }
let b{3-0} = 5 in def a : A;
let b{7-4} = 0b1010, c{0} = 0 in def b : A;
let b{7...4} = 3 in def c : A;
let b{0} = 1 in { let b{1} = 1 in def d : A; def e : A { let b{2} = 1; } }
// --- bit list in a top-level let
class A { bits<8> b = 0; }
let b{0, 2, 5-4} = 0b1011 in def a : A;
let b<3-0> = 5 in def c : A;
// --- bit range in a let of a class
class A { bits<8> b; let b{3-0} = 0b0110; }
class B<bits<4> n> : A { let b{7-4} = n; let b{0} = n{3}; }
def a : A;
def b : B<0b1001>;
// --- let before the body's own fields
class A { string s = "a"; string t = s # "t"; }
class B : A { let s = "b"; string u = t # "u"; }
class C : B { let t = "c" # s; }
def a : A;
def b : B;
def c : C;
def d : C { let s = "d"; }
// --- template default from another
class A<int x, int y = !add(x, 1), int z = !add(x, y)> { list<int> l = [x, y, z]; }
def a : A<1>;
def b : A<1, 5>;
def c : A<1, 5, 9>;
// --- template argument named like a field of a parent
class A<int x> { int f = x; }
class B<int x> : A<!add(x, 1)> { int g = x; }
def a : B<1>;
// --- class value as an argument
class P<int n> { int v = n; int w = !mul(n, n); }
class A<P p> { int r = p.v; int s = p.w; P q = p; }
def a : A<P<3>>;
// --- redeclared field
class A { int f = 1; }
class B : A { int f = 2; }
def a : B;
// --- field without a value
class A { int f; string s; bits<3> b; list<int> l; dag d; code c; bit t; }
def a : A;
def b : A { let f = 1; let b{1} = 1; }
// --- superclasses in order
class A; class B; class C : A, B; class D : C;
def d : D;
// --- later parent overrides
class A { int f = 1; }
class B : A { let f = 2; }
class C { int f = 3; }
def a : B, C;
def b : C, B;
// --- forward class
class A;
class B { A a; }
class A { int f = 1; }
def x : A;
def y : B { let a = x; }
// --- unset over a value
class A { int f = 1; bits<2> b = 3; }
def a : A { let f = ?; let b = ?; }
// --- let refers to a later field
class A { int f = g; int g = 2; }
// --- self by name
class A { A next = ?; }
def a : A { let next = a; }
// --- NAME as an argument
class A<string s> { string t = s; }
class B : A<NAME>;
def a : A<NAME>;
def b : B;
def c : A<NAME # "_c">;
// --- let over the name of an argument
class A<int x> { int f = x; }
class B<int x> : A<x> { let f = !add(x, 100); int old = f; }
def a : B<1>;
// --- assert in a class
class A<int x> { int f = x; assert !gt(f, 0), "positive: " # f; }
def a : A<-1> { let f = 4; }
def b : A<2>;
// --- defvar in a body sees the field as it is then
class A<int x> { int f = x; defvar v = !add(f, 1); int g = v; }
def a : A<1>;
def b : A<1> { let f = 10; }
// --- positional and named arguments
class A<int x, int y = 2, int z = 3> { list<int> l = [x, y, z]; }
def a : A<1, z = 9>;
def b : A<x = 4, y = 5>;
// --- list of a class takes subclasses
class A; class B : A; class C : A;
def b : B; def c : C;
def a { list<A> l = [b, c]; A x = b; list<B> m = [b]; }
// --- two levels of arguments
class A<list<int> l> { list<int> m = l; int n = !size(m); }
class B<int k> : A<[k, !add(k, 1)]>;
class C<int k> : B<!mul(k, 2)> { let m = [k]; }
def b : B<1>;
def c : C<4>;
// --- append and prepend
class A { list<int> l = [1]; string s = "s"; dag d = (o 1); }
def o;
def a : A { let append l = [2]; let prepend l = [0]; let append s = "x"; let append d = (o 2); }
let append l = [5] in def b : A;
// --- let of a field of an outer let
class A { int f = 1; int g = 2; }
let f = g in def a : A;
