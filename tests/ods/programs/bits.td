// --- widths of binary literals
def a { bits<4> b = 0b0011; bits<8> c = {0b1010, 0b0101}; bits<3> d = {0b01, 1}; }
// --- binary literal of another width
def a { bits<8> b = 0b11; }
// --- binary literal too wide with leading zeros
def a { bits<2> b = 0b0011; }
// --- binary literal as an int
def a { int i = 0b101; int j = !add(0b11, 1); bit t = 0b1; string s = "s" # 0b11; }
// --- binary literal as a bit
def a { bit t = 0b01; }
// --- binary literal in a list
def a { list<int> l = [0b101, 2]; list<bits<3>> m = [0b101, 2]; list<bits<4>> n = [0b0101]; }
// --- binary literal to an argument
class A<bits<4> b> { bits<4> c = b; bits<2> d = b{3-2}; }
def a : A<0b1001>;
def b : A<9>;
// --- binary literal of another width to an argument
class A<bits<4> b> { bits<4> c = b; }
def a : A<0b11>;
// --- hexadecimal to bits
def a { bits<8> b = 0x1F; bits<8> c = 31; bits<4> d = -1; bits<64> e = 0xFFFFFFFFFFFFFFFF; bits<65> f = -1; }
// --- negative to bits too narrow
def a { bits<4> d = -9; }
// --- single bits
class A<bits<4> x> { bits<4> b = {x{0}, x{1}, x{2}, x{3}}; bit c = x{2}; bits<1> d = x{0}; bits<2> e = {x{3}, 0}; }
def a : A<0b0010>;
// --- ranges of bits
class A<bits<8> x> { bits<4> b = x{7-4}; bits<4> c = x{4-7}; bits<3> d = x{0, 2, 7}; bits<4> e = x{3...0}; bits<5> f = {x{1-0}, x{7-5}}; }
def a : A<0b11010010>;
// --- bits of an int
class A<int n> { bits<4> b = n{3-0}; bit c = n{1}; bits<8> d = {n{3-0}, n{7-4}}; }
def a : A<0xA5>;
// --- unset bits
class A { bits<4> b = {1, ?, 0, ?}; bits<4> c; bits<8> d = {b, c}; bit e = b{2}; bit f = b{3}; }
def a : A;
def b : A { let c = 0b0110; }
def c : A { let b{2} = 1; let c{0} = 0; }
// --- bits that refer to a field
class A { bits<4> op; bits<8> enc; let enc{7-4} = op; let enc{3-0} = 0b1111; }
def a : A { let op = 0b1001; }
def b : A;
// --- bits of a later field
class A { bits<8> enc; bits<3> r; bits<2> s = 1; let enc{2-0} = r; let enc{4-3} = s; let enc{7} = r{2}; }
def a : A { let r = 5; }
def b : A { let r{1} = 1; let s = ?; }
// --- bits to int and back
class A<bits<4> x> { int n = x; bits<4> y = n; list<int> l = [n, x]; int m = !add(x, 1); }
def a : A<12>;
// --- concatenated bits
class A<bits<2> x, bits<2> y> { bits<4> c = {x, y}; bits<5> d = {1, x, y}; bits<4> e = {y{0}, x, y{1}}; }
def a : A<0b10, 0b01>;
// --- bits overflow
def a { bits<3> b = 8; }
// --- bits too short
def a { bits<3> b = {1, 0}; }
// --- bit from an int
class A<int n> { bit b = n; }
def a : A<1>;
def b : A<0>;
// --- bit from a large int
def a { bit b = 2; }
// --- true and false
def a { bit b = true; bit c = false; int i = true; bits<2> d = {true, false}; list<bit> l = [true, 0, 1]; string s = "s" # true; }
// --- bits in conditions
class A<bits<2> x> { int r = !if(x{0}, 1, 2); int s = !if(!eq(x, 2), 3, 4); bit t = !and(x{0}, x{1}); bits<2> u = !or(x, 1); }
def a : A<2>;
def b : A<3>;
// --- let of a single bit twice
class A { bits<4> b = 0; let b{1} = 1; let b{1} = 0; let b{2} = 1; }
def a : A;
// --- let of the same bit in one range
class A { bits<4> b = 0; let b{1, 1} = 0; }
// --- let bits of an int
class A { int b = 0; let b{1} = 1; }
// --- numbers
def a { int a = 0x7fffffffffffffff; int b = -9223372036854775808; int c = +5; int d = -0x1; int e = 0xFFFFFFFFFFFFFFFF; int f = 007; }
// --- negative hexadecimal
def a { int d = -5; int e = 0xF; }
// --- names that begin with a digit
def 1a { int i = 1; }
def b { int 2c = 2; int d = 2c; }
// --- strings
def a { string s = "a" "b" "c"; string t = "tab\tnl\nq\"b\\e\'"; code c = [{ "x" \n }]; string u = [{u}]; string e = ""; }
// --- list slices
class A<list<int> l> { list<int> a = l[1-3]; list<int> b = l[0, 2]; int c = l[2]; list<int> d = l[3-1]; list<int> e = l[1...2]; list<int> f = l[0, 1-2]; int g = l[1, 2][0]; }
def a : A<[10, 11, 12, 13]>;
// --- list slice with a trailing comma
class A<list<int> l> { list<int> a = l[1,]; list<int> b = l[1]<int>; }
// --- element beyond the end
class A<list<int> l> { int c = l[5]; }
def a : A<[1]>;
// --- lists in lists
def a { list<list<int>> l = [[1], [], [2, 3]]; int n = l[2][1]; list<int> m = l[0]; }
// --- list with its type
def a { list<int> l = [1, 2]<int>; list<string> s = []<string>; list<list<int>> e = []; }
// --- trailing comma in a list
def a { list<int> l = [1, 2,]; }
// --- dag forms
def o; def p; class C<int n>;
def a { dag d = (o); dag e = (o 1, "s", p, [1, 2]); dag f = (o:$n p:$x, $y, ?:$z); dag g = (o (p 1):$q, (p)); dag h = (C<1> p); }
// --- dag operator from a field
def o;
class A<dag d> { dag e = d; dag f = !con(d, (o 5)); }
def a : A<(o 1:$x)>;
