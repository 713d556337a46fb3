"""Random TableGen programs that are mostly right: each name is used for what it is."""

import random

TYPES = ("int", "string", "list<int>", "bits<4>")


class Generator:
    """Makes one program of a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = {type: [] for type in TYPES}  # that the current place can use

    def pick(self, *choices):
        return self.random.choice(choices)

    def value(self, type, depth=2):
        """An expression of this type."""
        if self.names[type] and self.random.random() < 0.4:
            return self.random.choice(self.names[type])
        made = {"int": self.int_, "string": self.string_, "list<int>": self.list_, "bits<4>": self.bits_}
        return made[type](depth - 1) if depth > 0 else self.literal(type)

    def literal(self, type):
        number = self.random.randrange(16)
        if type == "int":
            return self.pick(str(number), f"-{number}", hex(number))
        if type == "string":
            return self.pick('""', f'"s{number}"', '"x" "y"')
        return f"[{number}, 2]" if type == "list<int>" else self.pick(str(number), f"0b{number:04b}")

    def int_(self, depth):
        a, b = self.value("int", depth), self.value("int", depth)
        text, items = self.value("string", depth), self.value("list<int>", depth)
        return self.pick(
            f"!{self.pick('add', 'sub', 'mul', 'and', 'or', 'xor')}({a}, {b})",
            f"!if(!{self.pick('eq', 'ne', 'lt', 'le', 'gt', 'ge')}({a}, {b}), {a}, {b})",
            f"!size({self.pick(text, items)})",
            f'!find({text}, "s")',
            f"!foldl({a}, {items}, t, e, !add(t, e))",
            f"!cond(!lt({a}, 3): {b}, true: {a})",
            f"!if(!empty({items}), {a}, !head(!listconcat({items}, [1])))",
        )

    def string_(self, depth):
        a, b = self.value("string", depth), self.value("string", depth)
        number, items = self.value("int", depth), self.value("list<int>", depth)
        return self.pick(
            f"!strconcat({a}, {b})",
            f"{a} # {self.pick(b, number, 'verbatim', 'g0')}",
            f'!interleave({items}, "-")',
            f'!subst("s", "t", {a})',
            f"!substr({a}, 0, 2)",
            f"!cast<string>({number})",
        )

    def list_(self, depth):
        a, b, number = self.value("list<int>", depth), self.value("list<int>", depth), self.value("int", depth)
        return self.pick(
            f"!listconcat({a}, {b})",
            f"{a} # {b}",
            f"!foreach(e, {a}, !add(e, {number}))",
            f"!filter(e, {a}, !lt(e, {number}))",
            f"!listsplat({number}, 2)",
            f"!listremove({a}, {b})",
            f"[{number}]",
            f"!foreach(e, {a}, !foldl(e, {b}, t, f, !sub(t, f)))",
        )

    def bits_(self, depth):
        return self.pick(
            self.literal("bits<4>"), "{0b10, 1, 0}", "{1, 0b001}", f"!if({self.value('int', depth)}, 5, 3)"
        )

    def fields(self, prefix, count=3):
        """Fields of a body, each of which may use those before it."""
        lines = []
        for i in range(count):
            type = self.pick(*TYPES)
            lines.append(f"  {type} {prefix}{i} = {self.value(type)};")
            self.names[type].append(f"{prefix}{i}")
        return lines

    def arguments(self):
        return ", ".join(self.value(type) for type in TYPES)

    def known(self, outside, more):
        """From here on the program can use what is outside and `more`, which are {name: type}."""
        self.names = {type: [*names, *(n for n, t in more.items() if t == type)] for type, names in outside.items()}

    def program(self):
        """The whole text."""
        lines = []
        for i in range(2):
            type = self.pick("int", "string", "list<int>")
            lines.append(f"defvar g{i} = {self.value(type)};")
            self.names[type].append(f"g{i}")
        outside = {type: list(names) for type, names in self.names.items()}
        own = {}
        for name in "AB":
            template = {f"{name.lower()}_{type[0]}": type for type in TYPES}
            self.known(outside, template)
            lines.append(f"class {name}<{', '.join(f'{type} {arg}' for arg, type in template.items())}> {{")
            lines += [*self.fields(f"f{name}"), "}"]
            own[name] = {n: t for t, names in self.names.items() for n in names if n.startswith(f"f{name}")}
        self.known(outside, own["A"])
        later, changed = self.arguments(), self.value(own["B"]["fB0"], 1)
        self.known(outside, {"i": "int"})
        loop = f"foreach i = {self.pick('0-2', '[5, 7]', '!range(2)')} in def e # i : A<{self.arguments()}>;"
        self.known(outside, {"n": "int"})
        body = (
            f"def _a : B<{self.arguments()}>; defvar k = !add(n, 1); def NAME # n {{ int v = k; string s = n # g0; }}"
        )
        self.known(outside, {})
        lines += [
            f"def d : A<{', '.join(self.literal(type) for type in TYPES)}>, B<{later}> {{ let fB0 = {changed}; }}",
            *[loop, f"multiclass M<int n> {{ {body} }}", f"defm m : M<{self.value('int')}>;"],
        ]
        return "\n".join(lines) + "\n"
