def arithmetic {
  int add = !add(1, 2, 3);
  int mul = !mul(2, 3, 4);
  int sub = !sub(1, 5);
  int andv = !and(12, 10);
  int orv = !or(12, 10);
  int xorv = !xor(12, 10);
  int shl = !shl(1, 4);
  int sra = !sra(-16, 2);
  int srl = !srl(-1, 60);
  int notv = !not(0);
  int wrap = !add(0x7FFFFFFFFFFFFFFF, 1);
}
def comparison {
  list<int> ints = [!eq(1, 1), !ne(1, 1), !lt(1, 2), !le(2, 2), !gt(1, 2), !ge(1, 2)];
  list<int> texts = [!eq("a", "a"), !lt("a", "b"), !gt("a", "b")];
}
def lists {
  list<int> cat = !listconcat([1], [2, 3], []<int>);
  list<int> splat = !listsplat(7, 3);
  int size = !size([1, 2]);
  int empty = !empty([]<int>);
  int head = !head([4, 5]);
  list<int> tail = !tail([4, 5, 6]);
  list<int> doubled = !foreach(x, [1, 2, 3], !mul(x, 2));
  list<int> odd = !filter(x, [1, 2, 3], !and(x, 1));
  int sum = !foldl(0, [1, 2, 3], total, x, !add(total, x));
  list<int> four = [5, 6, 7, 8];
  int one = four[1];
  list<int> slice = four[1-2];
  list<int> several = four[0, 3];
  list<int> pasted = [1] # [2];
  string joined = !interleave(["a", "b"], ", ");
  string joinedInts = !interleave([1, 2], "+");
}
def texts {
  string cat = !strconcat("a", "b", "c");
  string sub = !substr("hello", 1, 3);
  int found = !find("hello", "l");
  int missing = !find("hello", "z");
  string replaced = !subst("a", "b", "banana");
  string choice = !if(!eq(1, 1), "yes", "no");
  string cond = !cond(!lt(2, 1): "less", !eq(2, 2): "same", 1: "else");
  int length = !size("four");
}
class Animal<string s> { string sound = s; }
class Cat : Animal<"meow">;
def op;
def other;
def tom : Cat;
def rex : Animal<"woof">;
def records {
  Animal cast = !cast<Animal>("to" # "m");
  string name = !cast<string>(rex);
  list<int> kinds = [!isa<Cat>(tom), !isa<Cat>(rex)];
  string sound = !cast<Animal>("rex").sound;
  Animal swapped = !subst(tom, rex, tom);
  list<string> sounds = !foreach(a, [tom, rex], a.sound);
  int same = !eq(tom, tom);
}
def dags {
  dag plain = (op 1, "two":$b, tom:$c, $d);
  dag nested = (op (other 1):$x);
  dag con = !con((op 1:$a), (op 2:$b), (op));
  dag built = !dag(op, [1, 2], ["x", "y"]);
  dag unnamed = !dag(op, [1, 2], ?);
  dag reop = !setdagop((op 1), other);
  Animal gotten = !getdagop<Animal>((tom 1));
  dag mapped = !foreach(x, (op op, tom), !subst(op, other, x));
  int size = !size((op 1, 2, 3));
  int empty = !empty((op));
}
