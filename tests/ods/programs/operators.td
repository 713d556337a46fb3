// --- repr of simple values
def o;
def a { string i = !repr(5); string s = !repr("x\"y"); string l = !repr([1, 2]); string m = !repr(["a", "b"]); string d = !repr((o 1:$x, "s")); string r = !repr(o); string n = !repr(-3); string e = !repr([]<int>); }
// --- repr of bits
class A<bits<4> b, bit t> { string r = !repr(b); string s = !repr(t); string u = !repr(0b101); }
def a : A<5, 1>;
// --- repr of unset
def a { int i = ?; string r = !repr(i); string s = !repr(?); }
// --- repr of code and nested
def o;
def a { string c = !repr([{x y}]); string l = !repr([[1], [2, 3]]); string d = !repr((o:$n (o 1), ?:$z, $w)); }
// --- instances
class A<int x> { int f = x; } class B<int x> : A<x>;
def a1 : A<1>; def b1 : B<2>; def a2 : A<3>; def c;
def z { list<A> l = !instances<A>(); list<B> m = !instances<B>(); list<int> n = !foreach(r, !instances<A>(), r.f); }
// --- instances by a regular expression
class A; def a1 : A; def a2 : A; def ba1 : A; def b3 : A; def a10 : A;
def z { list<A> l = !instances<A>("a.*"); list<A> m = !instances<A>("^a[0-9]$"); list<A> n = !instances<A>("1$"); list<A> o = !instances<A>("a1|b3"); list<A> p = !instances<A>("zz"); list<A> q = !instances<A>(""); list<A> r = !instances<A>("a1"); }
// --- instances by classes of characters
class A; def a1 : A; def a_b : A; def Ab : A; def a10 : A;
def z { list<A> l = !instances<A>("[[:digit:]]+"); list<A> m = !instances<A>("^[A-Z]"); list<A> n = !instances<A>("a[^1]"); list<A> o = !instances<A>("^a(1|_)"); list<A> p = !instances<A>("0{1}"); }
// --- match
def a { bit b = !match("abc", "a.c"); bit c = !match("xabcx", "a.c"); bit d = !match("xabcx", "^a.c$"); bit e = !match("", ""); bit f = !match("ab", "b+"); bit g = !match("ab", "c*"); }
// --- match in a class
class A<string s> { bit m = !match(s, "^v[0-9]+$"); string r = !if(!match(s, "x|y"), "xy", "no"); }
def a : A<"v12">; def b : A<"vx">; def c : A<"z">;
// --- arithmetic
class A<int x, int y> { int a = !add(x, y, 1); int s = !sub(x, y); int m = !mul(x, y, 2); int d = !div(x, y); int n = !and(x, y, 7); int o = !or(x, y, 8); int e = !xor(x, y); }
def a : A<17, -5>; def b : A<-17, 5>; def c : A<9, 4>;
// --- shifts and logarithms
class A<int x> { int l = !shl(x, 3); int r = !srl(x, 1); int s = !sra(x, 1); int t = !logtwo(!add(x, 100)); int n = !not(x); }
def a : A<5>; def b : A<-6>; def c : A<0>;
// --- overflow of arithmetic
def a { int a = !add(9223372036854775807, 1); int m = !mul(9223372036854775807, 2); int s = !sub(-9223372036854775808, 1); int l = !shl(1, 63); }
// --- division by zero
def a { int d = !div(1, 0); }
// --- comparisons
class A<int x, int y> { list<bit> l = [!eq(x, y), !ne(x, y), !lt(x, y), !le(x, y), !gt(x, y), !ge(x, y)]; }
def a : A<1, 2>; def b : A<2, 2>; def c : A<3, -2>;
// --- comparisons of strings
class A<string x, string y> { list<bit> l = [!eq(x, y), !ne(x, y), !lt(x, y), !le(x, y), !gt(x, y), !ge(x, y)]; }
def a : A<"a", "b">; def b : A<"b", "b">; def c : A<"Z", "a">;
// --- comparisons of records and bits
class R; def r : R; def s : R;
class A<R x, bits<3> b> { bit e = !eq(x, r); bit n = !ne(x, r); bit f = !eq(b, 5); bit g = !lt(b, 6); }
def a : A<r, 5>; def b : A<s, 7>;
// --- strings
class A<string s> { int n = !size(s); int f = !find(s, "l"); int g = !find(s, "l", 3); int h = !find(s, "q"); string a = !substr(s, 1); string b = !substr(s, 1, 2); string c = !substr(s, 0, 99); string d = !substr(s, 5); string u = !toupper(s); string w = !tolower(s); string j = !subst("l", "LL", s); string k = !strconcat(s, "-", s); }
def a : A<"hello">; def b : A<"HElla">;
// --- find an empty string
def a { int f = !find("abc", ""); int g = !find("abc", "", 3); int h = !find("abc", "c", 2); }
// --- substr beyond the end
def a { string s = !substr("abc", 4); }
// --- lists
class A<list<int> l> { int n = !size(l); bit e = !empty(l); int h = !head(l); list<int> t = !tail(l); list<int> c = !listconcat(l, [9], l); list<int> s = !listsplat(3, 2); list<int> r = !listremove(l, [2, 3]); string i = !interleave(l, ", "); }
def a : A<[1, 2, 3]>; def b : A<[5]>;
// --- lists of strings
class A<list<string> l> { string i = !interleave(l, "+"); string h = !head(l); list<string> r = !listremove(l, ["b"]); list<string> f = !filter(x, l, !ne(x, "a")); list<list<string>> s = !listsplat(l, 2); list<string> t = !listflatten([l, l]); }
def a : A<["a", "b", "a"]>;
// --- interleave of bits
def a { string i = !interleave([true, false], ","); list<bits<3>> l = [0b101, 2]; string j = !interleave(l, "/"); }
// --- range
def a { list<int> a = !range(4); list<int> b = !range(1, 4); list<int> c = !range(4, 1); list<int> d = !range(0, 10, 3); list<int> e = !range(5, 0, -2); list<int> f = !range(["x", "y"]); list<int> g = !range(0); }
// --- fold
class A<list<int> l> { int s = !foldl(0, l, a, x, !add(a, x)); string t = !foldl("", l, a, x, a # "," # x); list<int> r = !foldl([]<int>, l, a, x, !listconcat([x], a)); int m = !foldl(!head(l), !tail(l), a, x, !if(!gt(x, a), x, a)); }
def a : A<[3, 1, 2]>;
// --- foreach over a list
class A<list<int> l> { list<int> d = !foreach(x, l, !mul(x, 2)); list<string> s = !foreach(x, l, "n" # x); list<list<int>> p = !foreach(x, l, !foreach(y, l, !add(x, y))); }
def a : A<[1, 2]>;
// --- foreach over a dag
def o; def p; def q;
class A<dag d> { dag e = !foreach(x, d, !subst(p, q, x)); }
def a : A<(o p:$a, q:$b, p)>;
// --- filter
class A<int x> { int f = x; } def a1 : A<1>; def a2 : A<2>; def a3 : A<3>;
def z { list<A> l = !filter(r, [a1, a2, a3], !ge(r.f, 2)); list<int> m = !filter(i, [1, 2, 3, 4], !and(i, 1)); }
// --- cond
class A<int n> { string s = !cond(!lt(n, 0): "neg", !eq(n, 0): "zero", true: "pos"); int i = !cond(!gt(n, 5): 1, 1: 2); }
def a : A<-1>; def b : A<0>; def c : A<9>;
// --- cond that no case meets
class A<int n> { string s = !cond(!lt(n, 0): "neg"); }
def a : A<1>;
// --- if does not evaluate the other
class A<list<int> l> { int h = !if(!empty(l), -1, !head(l)); }
def a : A<[]>; def b : A<[4]>;
// --- if over classes
class P { int f = 1; } class Q : P { let f = 2; } class R : P { let f = 3; }
def q : Q; def r : R;
class A<bit b> { P p = !if(b, q, r); int g = !if(b, q, r).f; }
def a : A<1>; def b : A<0>;
// --- cast
class P { int f = 4; } def p : P;
class A<string n> { P q = !cast<P>(n); int g = !cast<P>(n).f; string s = !cast<string>(q); string t = !cast<string>(12); int i = !cast<int>(0b101); }
def a : A<"p">;
// --- cast to an int and to bits
class A<bits<4> b> { int i = !cast<int>(b); bits<4> c = !cast<bits<4>>(i); bit t = !cast<bit>(b{0}); list<int> l = !cast<list<int>>([1, 2]); }
def a : A<9>;
// --- isa
class P; class Q : P; def p : P; def q : Q;
class A<P x> { bit a = !isa<P>(x); bit b = !isa<Q>(x); int c = !if(!isa<Q>(x), 1, 0); bit d = !isa<int>(5); bit e = !isa<string>("s"); bit f = !isa<string>(5); }
def a : A<p>; def b : A<q>;
// --- exists
class P; class Q : P; def p : P; def q : Q;
def a { bit a = !exists<P>("p"); bit b = !exists<Q>("p"); bit c = !exists<P>("q"); bit d = !exists<P>("none"); bit e = !exists<P>("later"); }
def later : P;
// --- dag operators
def o; def p;
class A<dag d> { dag c = !con(d, (o 7:$k)); int n = !size(d); bit e = !empty(d); dag s = !setdagop(d, p); dag t = !dag(o, [1, 2], ["a", "b"]); dag u = !dag(p, [o, p], ?); dag v = !dag(o, ?, ["x"]); }
def a : A<(o 1:$x, 2)>; def b : A<(o)>;
// --- getdagop
class P { int f = 3; } def o : P; def q;
class A<dag d> { P x = !getdagop<P>(d); int g = !getdagop<P>(d).f; bit e = !eq(!getdagop(d), o); dag n = (!getdagop(d) 4); }
def a : A<(o 1)>;
// --- getdagarg
def o;
class A<dag d> { int x = !getdagarg<int>(d, 0); int y = !getdagarg<int>(d, "b"); string n = !getdagname(d, 0); string m = !getdagname(d, 1); dag s = !setdagarg(d, 0, 9); dag t = !setdagname(d, 1, "z"); dag u = !setdagarg(d, "b", "str"); }
def a : A<(o 1:$a, 2:$b)>;
// --- getdagarg of another type
def o;
def a { string x = !getdagarg<string>((o 1), 0); }
// --- con of named operators
def o;
def a { dag d = !con((o:$n 1), (o 2), (o:$m 3:$x)); }
// --- initialized
class A { int f; int g = 1; bit a = !initialized(f); bit b = !initialized(g); }
def a : A; def b : A { let f = 1; let g = ?; }
// --- subst of records
class P; def p : P; def q : P; def r : P;
class A<P x> { P y = !subst(p, q, x); string s = !subst("p", "q", "pip"); }
def a : A<p>; def b : A<r>;
// --- nested scopes of operators
def a { list<list<int>> l = !foreach(x, [1, 2], !foreach(y, [10, 20], !foldl(x, [1, 1], s, z, !add(s, !add(y, z))))); }
// --- equal of lists
def a { bit b = !eq([1, 2], [1, 2]); }
// --- equal of dags
def o;
def a { bit b = !eq((o 1), (o 1)); bit c = !eq((o 1:$a), (o 1)); bit d = !ne((o 1), (o 2)); }
// --- empty of a string
def a { bit b = !empty(""); bit c = !empty("x"); int n = !size(""); }
// --- head of a list of records
class P<int n> { int f = n; }
def a { int h = !head([P<1>, P<2>]).f; list<P> t = !tail([P<1>, P<2>]); }
// --- listconcat of types
class P; class Q : P; class R : P; def q : Q; def r : R;
def a { list<P> l = !listconcat([q], [r]); list<P> m = [q, r]; list<P> n = !listconcat([q], []); }
// --- strconcat of numbers
def a { string s = !strconcat("a", "b", "c"); string t = !strconcat("a"); }
// --- wrong operand types
def a { int i = !add("x", 1); }
// --- operator with too few operands
def a { int i = !sub(1); }
