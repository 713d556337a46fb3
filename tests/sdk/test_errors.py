"""CHECK, LOG(FATAL), Maybe, JUST and Error: kind, text and place of what they report."""

import re

import pytest
from sdk_pieces import unit

CASES = [  # statements that leave the function, kind, text
    ("CHECK(1 > 2);", 6, "Check failed: 1 > 2"),
    ('CHECK(Two() == 3) << "with " << 1 << ", " << 2.5 << " and " << true;', 6,
     "with 1, 2.5 and true (Check failed: Two() == 3)"),
    ("CHECK_EQ(Two(), 3);", 6, "Check failed: Two() == 3 (2 vs. 3)"),
    ('CHECK_NE(Two(), 2) << "!";', 6, "! (Check failed: Two() != 2 (2 vs. 2))"),
    ("CHECK_LT(Two(), 2);", 6, "Check failed: Two() < 2 (2 vs. 2)"),
    ("CHECK_LE(Two(), 1);", 6, "Check failed: Two() <= 1 (2 vs. 1)"),
    ("CHECK_GT(Two(), 2u);", 6, "Check failed: Two() > 2u (2 vs. 2)"),
    ("CHECK_GE(Two(), 3);", 6, "Check failed: Two() >= 3 (2 vs. 3)"),
    ("CHECK_EQ(kOwn, 4);", 6, "Check failed: kOwn == 4 (4 vs. 4)"),
    ("CHECK_LT(kHuge, 1);", 6, "Check failed: kHuge < 1 (18446744073709551615 vs. 1)"),
    ('CHECK_STREQ("a", "b");', 6, 'Check failed: ::std::string_view("a") == ::std::string_view("b") (a vs. b)'),
    ("int* null = nullptr; *CHECK_NOTNULL(null) = 1;", 6, "Check failed: 'null' must not be null"),
    ("DCHECK(false);", 6, "Check failed: false"),
    ('LOG(FATAL) << "so it ends";', 1, "so it ends"),
    ('UNIMPLEMENTED() << "yet";', 5, "UNIMPLEMENTED yet"),
    ("TODO();", 5, "TODO "),
    ('THROW(RuntimeError) << "thrown " << Shape({1, 2});', 1, "thrown (1,2)"),
    ("CHECK_OR_RETURN(false);", 6, "Check failed: false"),
    ('CHECK_OR_RETURN(false) << "why: " << kDouble << " on " << kCPU;', 6,
     "why: kDouble on kCPU (Check failed: false)"),
    ("CHECK_EQ_OR_RETURN(Shape({1, 2}), Shape({2, 1}));", 6,
     "Check failed: Shape({1, 2}) == Shape({2, 1}) ((1,2) vs. (2,1))"),
    ('CHECK_EQ_OR_RETURN(kFloat, kDouble) << Error::TypeError() << "dtypes";', 2,
     "dtypes (Check failed: kFloat == kDouble (kFloat vs. kDouble))"),
    ("CHECK_LT_OR_RETURN(2, 1);", 6, "Check failed: 2 < 1 (2 vs. 1)"),
    ("CHECK_NOTNULL_OR_RETURN(static_cast<int*>(nullptr));", 6,
     "Check failed: (static_cast<int*>(nullptr)) != nullptr"),
    ("CHECK_ISNULL_OR_RETURN(ctx);", 6, "Check failed: (ctx) == nullptr"),
    ("OF_UNIMPLEMENTED();", 5, "UNIMPLEMENTED "),
    ("OF_TODO();", 5, "TODO "),
    ('return Error::CheckFailed() << "a " << std::vector<int64_t>{1, 2} << std::string(" b");', 6, "a [1, 2] b"),
    ('return Error::RuntimeError() << "r";', 1, "r"),
    ('return Error::TypeError() << "t";', 2, "t"),
    ('return Error::InvalidValueError() << "v";', 3, "v"),
    ('return Error::IndexError() << "i";', 4, "i"),
    ('return Error::UnimplementedError() << "u";', 5, "u"),
    ('return Error::CheckFailedError() << "c" << std::endl << nullptr << 1.5f << \'x\' << uint8_t(7);', 6,
     "c\\nnullptr1.5x7"),
    ("JUST(Fails(7));", 1, "no 7\\n  from ops0.cpp:L: JUST(Fails(7))"),
    ("JUST(Outer());", 1, "no 8\\n  from ops0.cpp:J: JUST(Fails(8))\\n  from ops0.cpp:L: JUST(Outer())"),
    ("CHECK_JUST(Fails(9));", 1, "no 9\\n  from ops0.cpp:L: CHECK_JUST(Fails(9))"),
    ('JUST_MSG(Fails(1), "more " << 2);', 1, "no 1 more 2\\n  from ops0.cpp:L: JUST_MSG(Fails(1))"),
    ("OF_RETURN_IF_ERROR(Fails(3));", 1, "no 3\\n  from ops0.cpp:L: OF_RETURN_IF_ERROR(Fails(3))"),
    ("throw std::runtime_error(\"plain\");", 1, "plain"),
]  # fmt: skip

HELPERS = """
using Context = user_op::InferContext;
int Two() { return 2; }
int Ten = 10;
struct Big { int value; };
Maybe<void> Fails(int n) {
  return Error::RuntimeError() << "no " << n;
}
Maybe<int> Outer() {
  JUST(Fails(8));
  return 1;
}
Maybe<int> Scalar() { return 3; }
Maybe<Big> Object() { return Big{4}; }
Maybe<std::string> Shared() { return std::make_shared<std::string>("five"); }
Maybe<int&> Reference() { return Ten; }
Maybe<void> Fine() { return Maybe<void>::Ok(); }
enum Own { kOwn = 4 };  // its operators are not those of numbers
bool operator==(Own, int) { return false; }
bool operator<(Own, Own) { return true; }
enum Huge : unsigned long long { kHuge = ~0ull };
struct Printable { int x; };
std::ostream& operator<<(std::ostream& out, const Printable& p) { return out << "p" << p.x; }
"""

PASSING = """
  CHECK_EQ(JUST(Scalar()), 3);
  CHECK_EQ(JUST(Object())->value, 4);
  CHECK_EQ(*JUST(Shared()), "five") << "not evaluated " << Two();
  int& ten = JUST(Reference());
  ten = 11;
  CHECK_EQ(Ten, 11);
  JUST(Fine());
  CHECK_JUST(Fine());
  CHECK(Scalar().IsOk() && !Fails(1).IsOk());
  CHECK_EQ(TRY(Fails(2)).error().msg(), "no 2");
  if (Two() == 2) CHECK_EQ(1, 1); else CHECK(false);
  if (Two() == 3) CHECK_OR_RETURN(false); else CHECK_OR_RETURN(true) << "fine";
  for (int i = 0; i != 2; ++i) CHECK_LE_OR_RETURN(i, 1);
  CHECK_LT(kOwn, kOwn);
  volatile int seen = 2;
  volatile int* place = &seen;
  CHECK_EQ(place, &seen);
  CHECK_EQ(seen, 2u);
  CHECK_EQ((Error::RuntimeError() << Printable{3}).msg(), "p3");
"""


def op(i: int, body: str) -> str:
    return f"""REGISTER_USER_OP("op{i}").Output("out").SetTensorDescInferFn([](Context* ctx) -> Maybe<void> {{
  (void)ctx;
  {body}
  return Maybe<void>::Ok();
}});"""


SOURCE = "#include <sstream>\n" + unit(HELPERS, *(op(i, body) for i, (body, *_) in enumerate(CASES)), op(99, PASSING))


def line_of(text: str) -> int:
    """The first line of the source that starts with this text."""
    return next(i for i, line in enumerate(SOURCE.splitlines(), 1) if line.startswith(text))


@pytest.fixture(scope="module")
def reported(builder, drive):
    """The error of each case, in words: `error`, kind, place, text."""
    numbers = [*range(len(CASES)), 99]
    script = [line for i in numbers for line in (f"op op{i}", "out out", "infer")]
    lines = drive(builder.library(SOURCE), *script)
    assert lines[-2:] == ["infer 0", "out 0 () ()"], lines[-2:]
    return [re.sub(r"from \S*/", "from ", line).split(" ", 3) for line in lines if line.startswith("error")]


@pytest.mark.parametrize("i", range(len(CASES)), ids=[case[0] for case in CASES])
def test_error(i, reported):
    body, kind, text = CASES[i]
    registration = line_of(f'REGISTER_USER_OP("op{i}")')
    statement = registration + 2
    text = text.replace(":L:", f":{statement}:").replace(":J:", f":{line_of('  JUST(Fails(8))')}:")
    assert reported[i][1] == str(kind)
    assert reported[i][3] == text
    if "Fails" in body or "Outer" in body:
        assert reported[i][2] == f"ops0.cpp:{line_of('  return Error')}"  # where the error was made
    elif "throw std" in body:
        assert reported[i][2] == f"ops0.cpp:{registration}"
    else:
        assert reported[i][2] == f"ops0.cpp:{statement}"
