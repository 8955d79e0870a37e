package cli

// Large inputs: what strangers and generators write is checked, formatted, completed,
// served to editors and drawn in time that grows with the text, and no faster.

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

var (
	allLarge  = flag.Bool("large", false, "TestLarge gives every input to every command")
	largeTime = flag.Duration("bound", 15*time.Second, "TestLarge: the longest time of a command; a quiet machine keeps 2s")
)

// large is a text of about largeBytes: head, unit as often as it fits, tail. In unit %d
// is the number of the repetition, %p that of the one before.
type large struct{ name, head, unit, tail string }

const (
	largeBytes = 100_000
)

const largeHead = `codelet k(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }
codelet ini(x: W vector[f64]) { each i in x { x[i] = 1.0 } }
codelet red(a: RW variable[f64], s: f64) { a += s }
func f(n: int) -> int { return n }
param n: int = 4
register x = vector[f64](64, fill = 1)
register acc = variable[f64](reduce = sum)
`

var largeInputs = []large{
	// one line
	{"names on one line", "let a = 1\nlet b = [", "a, ", "]\nprint(b)\n"},
	{"undefined names on one line", "let b = [", "u%d, ", "]\nprint(b)\n"},
	{"one undefined name on one line", "let b = [", "zz, ", "]\nprint(b)\n"},
	{"undefined names near others", "let abcdefgh0 = 1\nlet b = [", "abcdefgh%d, ", "]\nprint(b)\n"},
	{"bare names", "", "name%d ", "\n"},
	{"bare names on lines", "", "name%d\n", ""},
	{"a name as statement", "let a = 1\n", "a;", "\n"},
	{"statements on one line", "", "let v%d = %d;", "\n"},
	{"statements on one line, used", "let v = 0;", "v = v + %d;", "\nprint(v)\n"},
	{"inserts on one line", largeHead, "insert k(RW x);", "\n"},
	{"wrong inserts on one line", largeHead, "insert k(R x);", "\n"},
	{"wrong inserts", largeHead, "insert k(R x)\n", "\n"},
	{"inserts of nothing", largeHead, "insert kk%d(RW x)\n", "\n"},
	{"unknown calls", largeHead, "ff%d(1);", "\n"},
	{"calls with wrong arguments", largeHead, "f(true);", "\n"},
	{"nested calls", largeHead + "let v = ", "f(", "1\n"},
	{"long call", largeHead + "print(", "f(%d), ", "1)\n"},
	{"unknown call nested arguments", largeHead + "print(", "g%d(q%d), ", "1)\n"},
	{"keyword arguments", largeHead + "f(", "a%d = 1, ", "n = 2)\n"},
	{"block on one line", "if true { ", "let a%d = 1; ", "}\n"},
	{"blocks on one line", "", "if true { print(1) } ", "\n"},
	{"blocks on one line, divided", "", "if true { print(1) }; ", "\n"},
	{"loops on one line", "", "for i in 0..1 { print(i) };", "\n"},
	// strings and comments
	{"long string", "let s = \"", "abcdefgh", "\"\nprint(s)\n"},
	{"long string, not closed", "let s = \"", "abcdefgh", "\nprint(s)\n"},
	{"strings", "let s = [", "\"a%d\", ", "]\nprint(s)\n"},
	{"open strings", "", "let a%d = \"abc\n", ""},
	{"escapes", "let s = \"", "\\n\\t", "\"\nprint(s)\n"},
	{"wrong escapes", "let s = \"", "\\q", "\"\nprint(s)\n"},
	{"wrong escapes on lines", "", "let a%d = \"\\q\"\n", "\n"},
	{"quotes", "", "\"", "\n"},
	{"apostrophes", "", "'", "\n"},
	{"apostrophes texts", "", "'a' ", "\n"},
	{"f-string", "let a = 1\nlet s = f\"", "{a} ", "\"\nprint(s)\n"},
	{"f-string, undefined", "let s = f\"", "{u%d} ", "\"\nprint(s)\n"},
	{"f-strings", "let a = 1\n", "print(f\"{a} {a + %d:4}\")\n", "\n"},
	{"f-strings on one line", "let a = 1\n", "print(f\"{a} {a + %d:4}\");", "\n"},
	{"f-string, wrong formats", "let a = 1\nlet s = f\"", "{a:zz}", "\"\nprint(s)\n"},
	{"f-string, open braces", "let s = f\"", "{", "\"\nprint(s)\n"},
	{"f-string, closing braces", "let s = f\"", "}", "\"\nprint(s)\n"},
	{"f-string, empty fields", "let s = f\"", "{}", "\"\nprint(s)\n"},
	{"f-strings, nested", "let s = ", "f\"{", "1\n"},
	{"f-string, one long field", "let a = 1\nlet s = f\"{a", " + a", "}\"\nprint(s)\n"},
	{"f-string, wrong fields", "let s = f\"", "{1 +}", "\"\nprint(s)\n"},
	{"long comment", "# ", "words ", "\nprint(1)\n"},
	{"comments", "", "# a comment %d\n", "print(1)\n"},
	{"comments behind statements", "", "print(%d) # a comment\n", ""},
	{"doc comments", "", "## doc %d\n", "func f() { }\nf()\n"},
	{"block comments of others", "", "/* x */ ", "\n"},
	{"line comments of others", "", "// x%d\n", "\n"},
	{"comments in a list", "let a = [\n", "    %d, # c\n", "]\nprint(a)\n"},
	{"comments in a block", "if true {\n", "    # c %d\n", "}\n"},
	{"empty lines", "print(1)\n", "\n", "print(2)\n"},
	{"blanks", "print(1)", " ", "\n"},
	{"tabs", "print(1)", "\t", "x\n"},
	{"carriage returns", "", "print(1)\r\n", ""},
	{"bare carriage returns", "", "print(1)\r", ""},
	{"semicolons", "", ";", "\n"},
	{"unicode names", "", "let é%d = 1\n", ""},
	{"unicode string", "let s = \"", "😀é", "\"\nprint(s, zz)\n"},
	{"unicode on one line", "let s = [", "\"😀\", zz%d, ", "]\nprint(s)\n"},
	{"unicode signs", "", "≤", "\n"},
	{"unicode signs on lines", "", "a ≤ %d\n", "\n"},
	{"emoji", "", "😀", "\n"},
	{"zero bytes", "", "\x00", "\n"},
	{"not utf-8", "", "\xff", "\n"},
	{"wide quotes", "", "“a” ", "\n"},
	{"control characters", "", "\x01\x02", "\n"},
	{"combining", "print(\"", "e\u0301", "\", zz)\n"},
	{"signs", "", "$", "\n"},
	{"signs, mixed", "", "@ ? ! $ ~ ` ", "\n"},
	{"backslashes", "", "\\", "\n"},
	{"numbers", "", "1 ", "\n"},
	{"long number", "let a = ", "1", "\nprint(a)\n"},
	{"long float", "let a = 0.", "1", "\nprint(a)\n"},
	{"long name", "let ", "a", " = 1\n"},
	{"wrong numbers", "let a = [", "0x%dg, ", "]\nprint(a)\n"},
	{"wrong suffixes", "let a = [", "1%dQi, ", "]\nprint(a)\n"},
	// brackets
	{"open parentheses", "", "(", ""},
	{"open square brackets", "", "[", ""},
	{"open braces", "", "{", ""},
	{"closing parentheses", "", ")", ""},
	{"closing square brackets", "", "]", ""},
	{"closing braces", "", "}", ""},
	{"closing braces on lines", "", "}\n", ""},
	{"pairs of parentheses", "", "()", "\n"},
	{"pairs of braces", "", "{}", "\n"},
	{"pairs of braces on lines", "", "{ }\n", "\n"},
	{"pairs of brackets", "", "[]", "\n"},
	{"wrong pairs", "", "(]", "\n"},
	{"wrong pairs on lines", "", "f(]\n", "\n"},
	{"unclosed on lines", "", "f(\n", "\n"},
	{"unclosed lets", "", "let a%d = (1\n", "\n"},
	{"unclosed lists", "", "let a%d = [1,\n", "\n"},
	{"unclosed lists in one line", "", "let a%d = [1; ", "\n"},
	{"unclosed blocks", "", "if true {\n", "\n"},
	{"unclosed functions", "", "func f%d() {\n", "\n"},
	{"unclosed codelets", "", "codelet f%d(x: R vector[f64]) {\n", "\n"},
	{"unclosed blocks and statements", "", "if true {\nprint(1)\n", "\n"},
	{"closed too often", "", "if true { } }\n", "\n"},
	{"heads without braces", "", "if true\nprint(1)\n}\n", "\n"},
	{"heads with colons", "", "if true:\n    print(1)\n", "\n"},
	{"heads with then", "", "if true then print(1) end\n", "\n"},
	{"heads without braces, open", "", "if true\n  print(1)\n", "\n"},
	{"heads without braces, then closed", "", "if true\n", "}}}}}}}}}}}}\n"},
	{"deep brackets", "let a = " + strings.Repeat("(", 150), "1, ", strings.Repeat(")", 150) + "\n"},
	{"deep lists", "let a = ", "[[[[[[1]]]]]], ", "1\n"},
	{"list of lists", "let a = [", "[1, 2, [3]], ", "]\nprint(a)\n"},
	{"index chain", "let a = [1]\nlet b = a", "[0]", "\n"},
	{"member chain", "let a = [1]\nlet b = a", ".b", "\n"},
	{"call chain", "let b = f", "()", "\n"},
	{"braces in brackets", "", "f({", "\n"},
	{"choices in brackets", "let c = true\n", "let a%d = [if c { 1 } else { 2 }]\n", "\n"},
	{"choice chain", "let c = true\nlet a = ", "if c then 1 else ", "2\nprint(a)\n"},
	{"folds", largeHead, "codelet s%d(x: R vector[f64], a: RW variable[f64]) { a += sum i in x { x[i] } }\n", ""},
	// expressions
	{"sum", "let a = 1", " + 1", "\nprint(a)\n"},
	{"sum in lists", "let a = [0", " + 1, 1", "]\nprint(a)\n"},
	{"sums", "let a = [", "1 + 2 * 3 - 4, ", "1]\nprint(a)\n"},
	{"string sum", "let a = \"\"", " + \"ab\"", "\nprint(a)\n"},
	{"list sum", "let a = [1]", " + [1]", "\nprint(a)\n"},
	{"and", "let a = true", " and true", "\nprint(a)\n"},
	{"and of others", "let a = true", " && true", "\nprint(a)\n"},
	{"comparisons", "let a = 1", " < 1", "\nprint(a)\n"},
	{"comparisons, joined", "let b = 1\nlet a = true", " and b < %d", "\nprint(a)\n"},
	{"ranges", "let a = 1", "..2", "\nprint(a)\n"},
	{"powers", "let a = 1", " ** 2", "\nprint(a)\n"},
	{"minus", "let a = ", "-", "1\nprint(a)\n"},
	{"not", "let a = ", "not ", "true\nprint(a)\n"},
	{"wrong sum", "let a = 1", " + true", "\nprint(a)\n"},
	{"wrong sums", "", "let a%d = 1 + true\n", "\n"},
	{"wrong sums on one line", "", "let a%d = 1 + true; ", "\n"},
	{"missing operands", "let a = 1", " + ", "\nprint(a)\n"},
	{"missing operands on lines", "", "let a%d = 1 + \n", "\n"},
	{"increments", "let a = 1\n", "a++\n", "\n"},
	{"increments on one line", "let a = 1\n", "a++; ", "\n"},
	{"comprehensions", "", "let a%d = [i for i in 0..3]\n", "\n"},
	{"nested comprehensions", "let a = ", "[i for i in 0..3 if ", "1\n"},
	// lists
	{"list", "let a = [", "%d, ", "]\nprint(a)\n"},
	{"list on lines", "let a = [\n", "    %d,\n", "]\nprint(a)\n"},
	{"list of floats", "let a = [", "%d.5, ", "]\nprint(a)\n"},
	{"list, mixed types", "let a = [", "1, true, ", "]\nprint(a)\n"},
	{"list, wrong commas", "let a = [", "1,, ", "]\nprint(a)\n"},
	{"list without commas", "let a = [", "1 ", "]\nprint(a)\n"},
	{"parameters", "func f(", "a%d: int, ", "z: int) { }\n"},
	{"parameters, twice", "func f(", "a: int, ", "z: int) { }\n"},
	{"parameters without types", "func f(", "a%d, ", "z) { }\n"},
	{"parameters of a codelet", "codelet f(", "a%d: R vector[f64], ", "z: RW vector[f64]) { }\n"},
	{"operands", largeHead + "insert k(", "RW x, ", "RW x)\n"},
	{"options", largeHead + "insert k(RW x) with ", "priority = 1, ", "priority = 2\n"},
	{"unknown options", largeHead + "insert k(RW x) with ", "prio%d = 1, ", "priority = 2\n"},
	{"names of a let", "let ", "a%d, ", "b = 1\n"},
	{"names of a register", "register ", "a%d, ", "b = vector[f64](4, fill = 1)\n"},
	{"filters", largeHead + "partition v = x by blocks(2)", " then blocks(2)", "\n"},
	{"unknown filters", largeHead + "partition v = x by blocks(2)", " then blokcs(2)", "\n"},
	{"tags of a wait", largeHead + "wait ", "x, ", "x\n"},
	// statements
	{"lets", "", "let v%d = %d\n", "\n"},
	{"lets, used", "let v0 = 0\n", "let w%d = v0\nprint(w%d)\n", "\n"},
	{"chain of lets", "let v0 = 0\n", "let v%n = v%d\n", "\n"},
	{"lets of one name", "", "let v = 1\n", "\n"},
	{"assignments", "let v = 0\n", "v = %d\n", "print(v)\n"},
	{"assignments to nothing", "", "v%d = %d\n", "\n"},
	{"assignments to names near", "let variable_of_mine = 0\n", "variable_of_mien%d = %d\n", "\n"},
	{"prints", "", "print(%d)\n", "\n"},
	{"prints of nothing", "", "print(u%d)\n", "\n"},
	{"many declared, many unknown", "", "let name%d = 1\nprint(nmae%d)\n", "\n"},
	{"registers", "", "register x%d = vector[f64](4, fill = 1)\n", "\n"},
	{"registers, not filled", largeHead, "register x%d = vector[f64](4)\ninsert k(RW x%d)\n", "\n"},
	{"inserts", largeHead, "insert k(RW x)\n", "\n"},
	{"inserts on many", largeHead, "register x%d = vector[f64](4, fill = 1)\ninsert k(RW x%d)\n", "\n"},
	{"contributions", largeHead, "insert red(REDUX acc, %d.0)\n", "print(value(acc))\n"},
	{"partitions", largeHead, "partition v%d = x by blocks(4)\ninsert k(RW v%d[0])\n", "\n"},
	{"partitions of partitions", largeHead + "partition v0 = x by blocks(4)\n", "partition v%n = v%d[0] by blocks(1)\n", "\n"},
	{"acquires", largeHead, "acquire R x as a%d { print(a%d[0]) }\n", "\n"},
	{"acquires, open", largeHead, "acquire R x as a%d\n", "\n"},
	{"ifs", largeHead, "if n > %d { print(1) } else { print(2) }\n", "\n"},
	{"else ifs", largeHead + "if n > 0 { print(1) }", " else if n > %d { print(2) }", "\n"},
	{"else ifs on lines", largeHead + "if n > 0 { print(1) }", " else if n > %d {\n print(2)\n}", "\n"},
	{"ifs around inserts", largeHead, "if n > %d { insert k(RW x) }\n", "\n"},
	{"ifs around registers", largeHead, "register v%d = vector[f64](4)\nif n > %d { insert ini(W v%d) }\ninsert k(RW v%d)\n", "\n"},
	{"loops", largeHead, "for i in 0..1 { insert k(RW x) }\n", "\n"},
	{"whiles", largeHead, "while n < 0 { print(1) }\n", "\n"},
	{"loop of many", largeHead + "for i in 0..2 {\n", "    insert k(RW x)\n", "}\n"},
	{"deep blocks", largeHead + strings.Repeat("if n > 0 {\n", 150), "print(n)\n", strings.Repeat("}\n", 150)},
	{"deep loops", largeHead + strings.Repeat("for i in 0..1 {\n", 100), "insert k(RW x)\n", strings.Repeat("}\n", 100)},
	{"deep loops of registers", largeHead + strings.Repeat("for i in 0..1 {\n", 100), "register a%d = vector[f64](4)\ninsert ini(W a%d)\n", strings.Repeat("}\n", 100)},
	{"towers of loops", largeHead, strings.Repeat("for i in 0..1 { ", 20) + "insert k(RW x) " + strings.Repeat("}", 20) + "\n", "\n"},
	{"towers of ifs", largeHead, strings.Repeat("if n > 1 { ", 20) + "insert k(RW x) " + strings.Repeat("}", 20) + "\n", "\n"},
	{"towers of whiles", largeHead, strings.Repeat("while n < 1 { ", 20) + "insert k(RW x) " + strings.Repeat("}", 20) + "\n", "\n"},
	{"functions", "", "func f%d(n: int) -> int { return n }\n", "\n"},
	{"functions, called", "", "func f%d(n: int) -> int { return n }\nprint(f%d(1))\n", "\n"},
	{"functions that call the next", "", "func f%d(n: int) -> int { return f%n(n) }\n", "func f%n(n: int) -> int { return n }\nprint(f0(1))\n"},
	{"functions that call the one before", "func f0(n: int) -> int { return n }\n", "func f%n(n: int) -> int { return f%d(n) + f%d(n) }\n", "\n"},
	{"functions with tasks", largeHead, "func g%d(v: vector[f64]) { insert k(RW v) }\ng%d(x)\n", "\n"},
	{"functions that call twice, with tasks", largeHead + "func g0(v: vector[f64]) { insert k(RW v) }\n", "func g%n(v: vector[f64]) { g%d(v); g%d(v) }\n", "\n"},
	{"functions of one name", "", "func f(n: int) -> int { return n }\n", "\n"},
	{"functions without return", "", "func f%d(n: int) -> int { }\n", "\n"},
	{"one long function", "func f(n: int) -> int {\n", "    let a%d = n\n    print(a%d)\n", "    return n\n}\nprint(f(1))\n"},
	{"codelets", "", "codelet c%d(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }\n", "\n"},
	{"codelets, inserted", "register x = vector[f64](4, fill = 1)\n", "codelet c%d(x: RW vector[f64]) { each i in x { x[i] += 1.0 } }\ninsert c%d(RW x)\n", "\n"},
	{"codelets, generic", "register x = vector[f64](4, fill = 1)\n", "codelet c%d(x: RW vector[T], s: T) { each i in x { x[i] *= s } }\ninsert c%d(RW x, 2.0)\n", "\n"},
	{"codelets, wrong", "", "codelet c%d(x: R vector[f64]) { each i in x { x[i] += y%d } }\n", "\n"},
	{"codelets of one name", "", "codelet c(x: R vector[f64]) { }\n", "\n"},
	{"one long codelet", "codelet c(x: RW vector[f64]) {\n    each i in x {\n", "        x[i] += %d.0\n", "    }\n}\nregister x = vector[f64](4, fill = 1)\ninsert c(RW x)\n"},
	{"one long codelet of lets", "codelet c(x: RW vector[f64]) {\n    each i in x {\n", "        let a%d = x[i]\n        x[i] = a%d + 1.0\n", "    }\n}\nregister x = vector[f64](4, fill = 1)\ninsert c(RW x)\n"},
	{"one long codelet of eaches", "codelet c(x: RW vector[f64]) {\n", "    each i in x { x[i] += %d.0 }\n", "}\nregister x = vector[f64](4, fill = 1)\ninsert c(RW x)\n"},
	{"one long codelet of ifs", "codelet c(x: RW vector[f64]) {\n    each i in x {\n", "        if x[i] > %d.0 { x[i] = 1.0 }\n", "    }\n}\nregister x = vector[f64](4, fill = 1)\ninsert c(RW x)\n"},
	{"one long codelet of loops", "codelet c(x: RW vector[f64]) {\n", "    for i in 0..len(x) { x[i] += x[i] }\n", "}\nregister x = vector[f64](4, fill = 1)\ninsert c(RW x)\n"},
	{"one long codelet, chain of lets", "codelet c(x: RW variable[f64]) {\n    let a0 = x\n", "    let a%n = a%d + a%d\n", "    x = a1\n}\nregister x = variable[f64](fill = 1)\ninsert c(RW x)\n"},
	{"one long codelet, shadowed", "codelet c(x: RW variable[f64]) {\n    let a = x\n", "    a = a * a + a\n", "    x = a\n}\nregister x = variable[f64](reduce = sum)\ninsert c(REDUX x)\nprint(value(x))\n"},
	{"one long contribution", "codelet c(x: RW variable[f64]) {\n", "    x += %d.0\n", "}\nregister x = variable[f64](reduce = sum)\ninsert c(REDUX x)\nprint(value(x))\n"},
	{"one long contribution of ifs", "codelet c(x: RW variable[f64], s: f64) {\n    let a = x\n", "    if s > %d.0 { a = a + 1.0 }\n", "    x = a\n}\nregister x = variable[f64](reduce = sum)\ninsert c(REDUX x, 1.0)\nprint(value(x))\n"},
	{"one long codelet, wrong", "codelet c(x: RW vector[f64]) {\n    each i in x {\n", "        x[i] += y%d\n", "    }\n}\n"},
	{"one long expression in a codelet", "codelet c(x: RW vector[f64]) {\n    each i in x { x[i] = ", "x[i] * 2.0 + (", "1.0 }\n}\n"},
	{"sums in a codelet", "codelet c(x: RW vector[f64]) {\n    each i in x { x[i] = 1.0", " + x[i]", " }\n}\nregister x = vector[f64](4, fill = 1)\ninsert c(RW x)\n"},
	{"params", "", "param p%d: int = %d\n", "\n"},
	{"params that need the one before", "param p0: int = 1\n", "param p%n: int = p%d\n", "\n"},
	{"params that need the next", "", "param p%d: int = p%n\n", "param p%n: int = 1\n"},
	{"params of one name", "", "param p: int = 1\n", "\n"},
	{"params, wrong types", "", "param p%d: vector[f64]\n", "\n"},
	{"externs", "", "extern e%d: vector[f64]\n", "\n"},
	{"imports", "", "import \"nothing%d.spu\"\n", "\n"},
	{"imports of one module", "", "import \"std/blas\" as b%d\n", "\n"},
	{"imports, unknown modules", "", "import \"std/blsa%d\"\n", "\n"},
	{"imports in a row on one line", "", "import \"std/blas\";", "\n"},
	// words of other languages, and recovery
	{"words", "", "lorem ipsum dolor sit amet\n", ""},
	{"words on one line", "", "lorem ipsum dolor sit amet ", "\n"},
	{"keywords", "", "let ", "\n"},
	{"keywords on lines", "", "let\n", "\n"},
	{"all keywords", "", "if for while func codelet acquire each else let register insert with by return ", "\n"},
	{"inserts of words", "", "insert ", "\n"},
	{"fors", "", "for ", "\n"},
	{"misspelt words", "", "regster x%d = vector[f64](4)\n", "\n"},
	{"misspelt words, glued", "let a = 1\n", "leta = 1\n", "\n"},
	{"glued words", "let a = 1\n", "printa%d\n", "\n"},
	{"elses", "", "else { }\n", "\n"},
	{"commas", "", ",", "\n"},
	{"commas on lines", "", ",\n", "\n"},
	{"equals", "", "=", "\n"},
	{"equal signs between names", "", "a = ", "1\n"},
	{"dots", "", ".", "\n"},
	{"dots between names", "", "a.", "b\n"},
	{"colons", "", ": ", "\n"},
	{"arrows", "", "-> ", "\n"},
	{"plus signs", "", "+ ", "\n"},
	{"c loops", "", "for (int i = 0; i < 3; i++) { print(i) }\n", "\n"},
	{"c declarations", "", "int x%d = 1;\n", "\n"},
	{"c declarations on one line", "", "int x%d = 1; ", "\n"},
	{"python functions", "", "def f%d(x):\n    return x\n", "\n"},
	{"python loops", "", "for i in range(3):\n    print(i)\n", "\n"},
	{"rust", "", "let mut x%d: i32 = 1;\n", "\n"},
	{"go", "", "x%d := 1\n", "\n"},
	{"go on one line", "", "x%d := 1; ", "\n"},
	{"calls of others", "", "console.log(\"x\");\n", "\n"},
	{"starpu calls", "", "starpu_task_insert(&cl, STARPU_RW, h%d, 0);\n", "\n"},
	{"pragmas", "", "#pragma omp task depend(inout: x)\nf()\n", "\n"},
	{"html", "", "<p>text</p>\n", "\n"},
	{"json", "", "{\"a\": [1, 2, {\"b\": null}]},\n", "\n"},
	{"base64", "", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo+/", "\n"},
	{"markdown", "", "- *item* `code` [link](to)\n", "\n"},
	{"slices of others", "let a = [1, 2]\n", "print(a[0:1])\n", "\n"},
	{"slices of others on one line", "let a = [1, 2]\n", "print(a[0:1]);", "\n"},
	{"increments of others", "let a = 1\n", "a += 1; a--; ++a\n", "\n"},
	{"ternaries of others", "let a = true\n", "print(a ? 1 : 2)\n", "\n"},
	{"ternary chain", "let a = true\nlet b = ", "a ? 1 : ", "2\n"},
	{"lambdas", "", "let f%d = lambda x: x\n", "\n"},
	{"methods of data", largeHead, "x.wait()\n", "\n"},
	{"modes without blanks", largeHead, "insert k(RWx)\n", "\n"},
	{"modes missing", largeHead, "insert k(x)\n", "\n"},
	{"modes missing on one line", largeHead, "insert k(x); ", "\n"},
	{"reads before writes", "register x = vector[f64](4)\n", "print(x)\n", "\n"},
	{"uses after the end", largeHead + "unregister x\n", "insert k(RW x)\n", "\n"},
	{"value in a loop", largeHead, "while value(acc) < 0.0 { insert red(REDUX acc, 1.0) }\n", "\n"},
	{"stale conditions", largeHead + "let v = value(acc)\n", "while v > 1.0 { insert red(RW acc, 1.0) }\n", "\n"},
	{"overlaps", largeHead + "partition v = x by blocks(4, halo = 1)\n", "insert k(RW v[0])\ninsert k(RW v[1])\n", "\n"},
	{"waits", largeHead, "wait\n", "\n"},
	{"invalidates", largeHead, "invalidate x\ninsert k(RW x)\n", "\n"},
	{"shadowed names", "let a = 1\n", "if true { let a = 2 }\n", "\n"},
	{"indices out of range", "let a = [1]\n", "print(a[%d])\n", "\n"},
	{"divisions by zero", "", "print(1 / 0)\n", "\n"},
	{"types that do not exist", "", "register x%d = vektor[f64](4)\n", "\n"},
	{"element types that do not exist", "", "register x%d = vector[float](4)\n", "\n"},
	{"nested types", "func f(a: ", "list[", "int) { }\n"},
}

// text is the input, of at least n bytes.
func (l large) text(n int) string {
	var b strings.Builder
	count := 0
	fill := func(unit string) {
		if !strings.Contains(unit, "%") {
			b.WriteString(unit)
			return
		}
		unit = strings.ReplaceAll(unit, "%d", strconv.Itoa(count))
		b.WriteString(strings.ReplaceAll(unit, "%n", strconv.Itoa(count+1)))
	}
	b.WriteString(l.head)
	for ; b.Len() < n; count++ {
		fill(l.unit)
	}
	count--
	fill(l.tail)
	return b.String()
}

// speakLSP is what an editor says that opens text and asks for everything at three
// places of it.
func speakLSP(text string) []byte {
	var b bytes.Buffer
	id := 0
	tell := func(method string, params any, asks bool) {
		msg := map[string]any{"jsonrpc": "2.0", "method": method, "params": params}
		if asks {
			id++
			msg["id"] = id
		}
		raw, _ := json.Marshal(msg)
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(raw), raw)
	}
	type m = map[string]any
	doc := m{"uri": "file:///nowhere/large.spu"}
	tell("initialize", m{"capabilities": m{}}, true)
	tell("initialized", m{}, false)
	tell("textDocument/didOpen", m{"textDocument": m{"uri": "file:///nowhere/large.spu", "languageId": "starpush", "version": 1, "text": text}}, false)
	lines := strings.Split(text, "\n")
	for _, k := range []int{0, len(lines) / 2, max(0, len(lines)-2)} {
		at := m{"line": k, "character": len(lines[k]) / 2}
		for _, method := range []string{"hover", "completion", "definition", "references", "documentHighlight", "prepareRename", "signatureHelp"} {
			tell("textDocument/"+method, m{"textDocument": doc, "position": at, "context": m{"includeDeclaration": true}}, true)
		}
	}
	whole := m{"start": m{"line": 0, "character": 0}, "end": m{"line": len(lines), "character": 0}}
	for _, method := range []string{"documentSymbol", "formatting", "inlayHint", "codeAction", "semanticTokens/full", "semanticTokens/range"} {
		tell("textDocument/"+method, m{"textDocument": doc, "range": whole, "context": m{"diagnostics": []m{}}}, true)
	}
	tell("shutdown", nil, true)
	tell("exit", nil, false)
	return b.Bytes()
}

// largeCommands are what is asked about each input.
var largeCommands = [][]string{{"check"}, {"check", "--json"}, {"check", "--fix"}, {"fmt", "--diff"}, {"graph"}, {"lsp"}}

// TestLarge gives each input to one of the commands, and with -large to all of them. The
// bound is wide enough for a slow machine, and far below what a quadratic step takes.
func TestLarge(t *testing.T) {
	for i, l := range largeInputs {
		commands := largeCommands
		if !*allLarge {
			k := i % len(largeCommands)
			commands = commands[k : k+1]
		}
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			for _, args := range commands {
				l.run(t, args)
			}
		})
	}
}

// run gives the input to a command, and checks how long that took and how much it said.
func (l large) run(t *testing.T, args []string) {
	text := l.text(largeBytes)
	command := strings.Join(args, " ")
	var in io.Reader = strings.NewReader("")
	if command == "lsp" {
		in = bytes.NewReader(speakLSP(text))
	} else {
		name := filepath.Join(t.TempDir(), "large.spu")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(slices.Clone(args), name)
	}
	var out, errs bytes.Buffer
	start := time.Now()
	code := Main(args, in, &out, &errs, nil)
	if d := time.Since(start); d > *largeTime {
		t.Errorf("%s took %v for %d bytes", command, d, len(text))
	}
	if code > exitLimit {
		t.Errorf("%s ended with status %d: %s", command, code, errs.String()[:min(errs.Len(), 1000)])
	}
	// Output of a valid text is complete; only some of many mistakes are shown.
	if said := errs.Len(); code != exitOK && said > 1<<20 {
		t.Errorf("%s wrote %d bytes of messages", command, said)
	}
	if said := out.Len(); command == "check --json" && said > 4<<20 {
		t.Errorf("%s wrote %d bytes of diagnostics", command, said)
	}
}
