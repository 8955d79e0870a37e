package advice

import (
	"strings"

	"github.com/starpush/starpush/lang/syntax/token"
	"github.com/starpush/starpush/lang/vocab"
)

// rules are tried in order: the first that fits counts. A rule whose words another one has,
// too, comes in front of it.
var rules = table{rules: []rule{
	// Names, numbers and operands.
	{name: "word twice", pattern: `insert|by|with ID «_ ‹^ID› »`, when: sameCaptures,
		says: "`${2:32}` occurs twice", help: "leave one out", drop: true, sure: true},
	{name: "loop in the head of a loop", find: (*cursor).heads},
	{name: "dash in a name", find: (*cursor).dashed},
	{name: "comma between thousands", in: "let|param|return|NAME", bracket: "none", pattern: `INT ~^, ~INT`, when: thousands,
		says: ": digits are grouped by `_`", write: "$1_$2"},
	{name: "decimal comma", in: "let|param|return|NAME", bracket: "none", pattern: `INT ~^, ~INT`, when: numberEnds,
		says: ": the decimal sign is a point", write: "$1.$2"},
	{name: "list of Go", find: (*cursor).listOfGo},
	{name: "type of several parameters", find: (*cursor).sharedType},
	{name: "mode behind the type", in: "DECLARATION", bracket: "(", pattern: `: « !MODE TYPE ^MODE » &,|)`,
		says: ": the mode comes before the type", write: "$2 $1", sure: true},
	{name: "mode and type first", in: "DECLARATION", bracket: "(", pattern: `\(|, « MODE ^DATA [ ID $] ID »`,
		says: "a parameter is written `name: MODE type`", write: "$5: $1 ${2-4}", sure: true},
	{name: "type first in a function", in: "FUNC", bracket: "(", pattern: `\(|, « DATA ^[ ID $] ID »`,
		says: "a parameter is written `name: MODE type`", write: "$4: ${1-3}", sure: true},
	{name: "type first", in: "DECLARATION", bracket: "(", pattern: `\(|, « DATA ^[ ID $] ID »`,
		says: "a parameter is written `name: MODE type`", write: "$4: RW ${1-3}", help: "write `$W`, or with `R` for what is only read"},
	{name: "mode and colon", bracket: "(", pattern: `\(|, « MODE ^: START »`, when: inCall,
		says: ": put a space after the mode", write: "$1 $2", sure: true},
	{name: "mode as a type of data", bracket: "(", pattern: `\(|, « ID ^: MODE » &,|)`, when: inCall,
		says: ": the mode comes before the data", write: "$2 $1", sure: true},
	{name: "argument by colon", bracket: "(", pattern: `\(|, « ID ^: X! »`, when: inCall,
		says: ": an argument is given by name with `=`", write: "$1 = $2", sure: true},
	{name: "value with a mode by colon", bracket: "(", pattern: `MODE ID ^: !ID X`, when: inCall,
		says: ": an operand is given by name with `=`", help: "write `$2 = $1 x` for data, `$2 = ${3:32}` for a value"},
	{name: "operand by colon", bracket: "(", pattern: `« MODE ID ^: &ID X »`, when: inCall,
		says: ": an operand is given by name with `=`", write: "$2 = $1 $3", sure: true},
	{name: "mode behind the data", bracket: "(", pattern: `\(|, « !MODE ID ^MODE » &,|)`, when: inCall,
		says: ": the mode comes before the data", write: "$2 $1", sure: true},
	{name: "product of named matrices", in: "!acquire", pattern: `ANY ^@ ID`, when: product(true),
		says: ": the product of matrices is a task", help: "`import \"std/blas\" as blas`, then `insert blas.gemm(R $1, R $2, RW C)`"},
	{name: "product of matrices", in: "!acquire", pattern: `\OPERAND ^@ START`, when: product(false),
		says: ": the product of matrices is a task", help: "`import \"std/blas\" as blas`, then `insert blas.gemm(R A, R B, RW C)`"},
	{name: "format of Python", find: (*cursor).formatTuple},
	{name: "each without an index", pattern: `| « each ID » ^&{`,
		says: "`each` names the indices that it goes over", write: "each i in $1"},

	// Statements in place of values, and on data.
	{name: "register as a value", bracket: "none", pattern: `| « let? ID = ^register » LINE`,
		says: "`register` begins the statement", write: "register $1 =", sure: true},
	{name: "new data", in: "register", pattern: `= « ‹new› _» ^&DATA`,
		says: "data is made without `new`", help: "leave `new` out", drop: true, sure: true},
	{name: "wait for a name as a value", bracket: "none", pattern: `| ‹ let? ID = ^wait › (? ID LINE`,
		says: "`wait` is a statement and gives no value", help: "write `wait $2` alone; `value($2)` and `acquire` wait by themselves"},
	{name: "wait as a value", bracket: "none", pattern: `| ‹ let? ID = ^wait › LINE`,
		says: "`wait` is a statement and gives no value", help: "write `wait x` alone; `value(x)` and `acquire` wait by themselves"},
	{name: "partition by as a value", bracket: "none", pattern: `| « let? ID = ^partition » ID by LINE`,
		says: "`partition` begins the statement", write: "partition $1 =", sure: true},
	{name: "partition of a name as a value", bracket: "none", pattern: `| ‹ let? ID = ^partition › (? ID LINE`,
		says: "`partition` begins the statement", help: "write `partition $1 = $2 by blocks(4)` for a vector, `tiles(4, 4)` for a matrix"},
	{name: "partition as a value", bracket: "none", pattern: `| ‹ let? ID = ^partition › LINE`,
		says: "`partition` begins the statement", help: "write `partition $1 = x by blocks(4)` for a vector, `tiles(4, 4)` for a matrix"},
	{name: "acquire with a mode as a value", bracket: "none", pattern: `| « ‹ let? ID = $^acquire › MODE ANY » END`,
		says: "`acquire` begins the statement", write: "${2-4} as $1", sure: true},
	{name: "acquire of a name as a value", bracket: "none", pattern: `| ‹ let? ID = ^acquire › (? ID LINE`,
		says: "`acquire` begins the statement", help: "write `acquire R $2 as $1` to read it, `acquire RW $2 as $1` to change it"},
	{name: "acquire as a value", bracket: "none", pattern: `| ‹ let? ID = ^acquire › LINE`,
		says: "`acquire` begins the statement", help: "write `acquire R x as $1` to read it, `acquire RW x as $1` to change it"},
	{name: "view by let", pattern: `| «let» ID = ID ^by X?`,
		says: "views are made by `partition`", help: "write `partition ${1-3:72}`", write: "partition", sure: true},
	{name: "view named behind", pattern: `| « partition &ID UPTO ‹ ^as ID › » EOL`, when: hasBy,
		says: "the name of a view comes first", write: "partition $2 = $1", sure: true},
	{name: "comma in front of a filter", pattern: `| partition ID «,» FILTER &( UPTO`,
		says: "a filter follows `by`", help: "write `partition $1 by ${2-3:60}`", write: " by", sure: true},
	{name: "register of a list, with i", pattern: `| « register ID ‹ ^[ …+ ] › = &DATA X »`, when: freeIndex,
		says: "a list of data is written on the right", write: "register $1 = [$3 for i in 0..$2]", sure: true},
	{name: "register of a list", pattern: `| « register ID ‹ ^[ …+ ] › = &DATA X »`,
		says: "a list of data is written on the right", write: "register $1 = [$3 for k in 0..$2]", sure: true},
	{name: "prefetch without a memory", bracket: "none", pattern: `| ‹ $prefetch UPTO › \OPERAND ^NL`,
		says: "`prefetch` names the memory that the data goes to", help: "write `${1-2:60} to ram`, or `to gpu(0)` for the first device", waits: "`to`"},
	{name: "word in place of by", in: "partition", pattern: `« ^into|as|with|in|using|to » ID (`,
		says: "a filter follows `by`", write: "by", sure: true},
	{name: "filter without parentheses", in: "partition", pattern: `by « FILTER &INT|ID ^LINE » then?`,
		says: ": the arguments of a filter are written in parentheses", write: "$1($2)", sure: true},
	{name: "filter as a method", in: "partition", pattern: `\ID « . FILTER » (`,
		says: "a filter follows `by`", write: " by $1", sure: true},
	{name: "filter as a method without parentheses", in: "partition", pattern: `\ID « . FILTER » ^ANY`,
		says: "a filter follows `by`", write: " by $1", sure: true},
	{name: "filter as a function", in: "partition", pattern: `\= « ‹ FILTER ( ID , › _»`,
		says: "a filter follows `by`", write: "$2 by $1(", sure: true},
	{name: "fold of other languages", find: (*cursor).foldForm},
	{name: "acquire by an arrow", pattern: `| acquire MODE ANY UPTO « ^-> »`,
		says: ": the name for the elements follows `as`", write: "as", sure: true},
	{name: "acquire by an assignment", pattern: `| acquire MODE ANY UPTO « ^= » ID`,
		says: ": the name for the elements follows `as`", write: "as", sure: true},
	{name: "acquire without a name", bracket: "none", pattern: `| ‹ acquire MODE UPTO › \OPERAND ^&{|NL`, when: unnamed,
		says: "`acquire` gives the elements a name", help: "write `acquire $1 $2 as a { … }`; the elements are `a[i]`, those of a matrix `a[i, j]`"},
	{name: "wait as a method", in: "NAME|insert", bracket: "none", pattern: `| « UPTO . ^wait ( ) » END`, when: wholeStatement,
		says: "`wait` is a statement, not a function", write: "wait $1", sure: true},
	{name: "wait as a method of a value", pattern: `| ‹ ANY UPTO . ^wait ( ) ›`,
		says: "`wait` is a statement, not a function", help: "write `wait t` as a statement of its own; it gives nothing"},
	{name: "range in brackets", bracket: "[", pattern: `\in « [ !: UPTO ^: … ] »`, when: oneColon,
		says: ": a range is written `a..b`", write: "$1..$2"},
	{name: "reducer +", pattern: `reduce = « ^+ » &)|,`, says: ": a reducer has a name", write: "sum", sure: true},
	{name: "reducer *", pattern: `reduce = « ^* » &)|,`, says: ": a reducer has a name", write: "prod", sure: true},

	// Lists, options and types.
	{name: "item and count", find: (*cursor).repeatedItem},
	{name: "rows in a list", find: (*cursor).rowsInList},
	{name: "sizes in brackets", bracket: "[", pattern: `DATA [ ANY ] « [ UPTO $^= … ] »`,
		says: "the arguments of a constructor are written in parentheses", write: "(${3-5})", sure: true},
	{name: "function of one line", in: "func", bracket: "none", pattern: `\) « ‹ ^= › X! » NL`,
		says: "the body of a function is written in braces", write: "-> float { return $1 }", help: "write `$W`, with the type that it gives"},
	{name: "function of one line with a type", in: "func", bracket: "none", pattern: `\) « ‹ ^:|-> ID = › X! » NL`,
		says: "the body of a function is written in braces", write: "$_-> $1 { return $2 }", help: "write `-> $1 { return ${2:60} }`", sure: true},
	{name: "function of one line with an arrow", in: "func", bracket: "none", pattern: `-> UPTO « ‹ ^= › X! » NL`, when: noCall,
		says: "the body of a function is written in braces", write: "{ return $2 }", sure: true},
	{name: "names in brackets", in: "for", pattern: `| for « ^(|[ &ID …+ )|] » in !enumerate|zip X?`, when: commaSecond,
		says: "the names of a loop have no brackets", write: "$1", sure: true},
	{name: "choice in braces", find: (*cursor).choiceInBraces},
	{name: "type of C", find: (*cursor).arrayType},
	{name: "elements in braces", in: "register", pattern: `vector [ ANY ] « ^{ … } »`, when: plainItems,
		says: "elements are given by `list`", write: "(list = [${2|trim}])", sure: true},
	{name: "option by colon", pattern: `with ID « ^: »`,
		says: ": an option is given by `=`", help: "write `$1 = …`", write: " =", sure: true},
	{name: "options in brackets", find: (*cursor).optionsInBraces},
	{name: "option without =", pattern: `with OPTION «_ » ^&OPERAND`, when: noValue,
		says: ": an option is given by `=`", help: "write `$1 = $0`", write: " =", sure: true},
	{name: "where in place of with", in: "INSERTS", bracket: "none", pattern: `\) « ^where|on » OPTION =`,
		says: "options follow `with`", write: "with", sure: true},
	{name: "option without with", in: "INSERTS", bracket: "none", pattern: `\) &ID ‹ «» ^OPTION › =`,
		says: "options follow `with`", help: "write `with $1 = …`", write: "with ", sure: true},
	{name: "after tasks", in: "INSERTS", bracket: "none", pattern: `\) ^&after`, find: (*cursor).afterTasks},
	{name: "on a device", in: "INSERTS", bracket: "none", pattern: `\) ‹ ^on|where &gpu X ›`, when: deviceNumber,
		says: "options follow `with`", help: "for one device, say where an operand is: `RW x @ ${1:32}`; for a kind, `with where = cuda` or `opencl`"},
	{name: "on any device", in: "INSERTS", bracket: "none", pattern: `\) « ^on|where &OPERAND X »`, when: anyDevice,
		says: "options follow `with`", write: "with where = [cuda, opencl]", sure: true},
	{name: "on a kind", in: "INSERTS", bracket: "none", pattern: `\) « ^on|where &OPERAND X »`, when: oneToken,
		says: "options follow `with`", write: "with where = ${1|kind}", sure: true},
	{name: "on something", in: "INSERTS", bracket: "none", pattern: `\) ‹ ^on|where &OPERAND X ›`,
		says: "options follow `with`", help: "write `with where = cpu`, or another kind of worker"},
	{name: "sync behind", in: "INSERTS", bracket: "none", pattern: `\) « ^sync » EOL`,
		says: "options follow `with`", write: "with sync = true", sure: true},
	{name: "option and value", in: "INSERTS", bracket: "none", pattern: `\) « ^OPTION !( X! »`,
		says: "options follow `with`", write: "with $1 = $2", sure: true},
	{name: "sync as the last option", in: "INSERTS", bracket: "none", pattern: `^, « sync » EOL`,
		says: "an option is given by `=`", write: "sync = true", sure: true},
	{name: "sync between options", in: "INSERTS", bracket: "none", pattern: `^, « sync » &,`,
		says: "an option is given by `=`", write: "sync = true", sure: true},
	{name: "sync as an option", in: "INSERTS", bracket: "none", pattern: `\with|, « sync » ^&,`,
		says: "an option is given by `=`", write: "sync = true", sure: true},
	{name: "sync as the only option", in: "INSERTS", bracket: "none", pattern: `\with|, « sync » EOL ^&NL|ANY`,
		says: "an option is given by `=`", write: "sync = true", sure: true},
	{name: "message by colon", in: "assert", bracket: "none", pattern: `«_ ^: » STR`,
		says: ": the message follows a comma", write: ",", sure: true},
	{name: "equality in assert", in: "assert", bracket: "none", pattern: `\OPERAND « ^= » !>`,
		says: ": equality is written `==`", write: "==", sure: true},
	{name: "plus sign", pattern: `!\OPERAND «^+» ~INT|FLOAT`,
		says: ": a number has no sign, or `-`", help: "leave it out", drop: true, sure: true},

	// Loops, choices and slices.
	{name: "loop of other languages", find: (*cursor).loopHabit},
	{name: "choice behind its value", find: (*cursor).choice},
	{name: "value or other value", pattern: `ANY «_ ‹ $^? $~? › X »`,
		says: "there is no operator `??`", help: "every name has a value: leave `${2-4:60}` out", drop: true},
	{name: "question mark behind if", pattern: `X « ^? »`, when: beginsWithIf,
		says: ": a choice is written `if c then a else b`", write: "then", sure: true},
	{name: "choice of C", pattern: `X ^? X : X`,
		says: ": a choice is written `if c then a else b`", write: "if $1 then $2 else $3", sure: true},
	{name: "question mark", pattern: `^?`, says: ": a choice is written `if c then a else b`"},
	{name: "condition of a named list", bracket: "[", pattern: `| let ID = [ X $for UPTO ‹ ^if › …+ ]`, when: oneLineMatch,
		says: "a list takes all that its loop gives", help: "write `let $1 = []`, and below it a loop that appends: `${3-4} { if $5 { $1 = $1 + [$2] } }`"},
	{name: "condition of a list", bracket: "[", pattern: `[ X $for UPTO ‹ ^if › …+ ]`, when: oneLineMatch,
		says: "a list takes all that its loop gives", help: "write `let xs = []`, and below it a loop that appends: `${2-3} { if $4 { xs = xs + [$1] } }`"},
	{name: "slice", find: (*cursor).slice},
	{name: "range with one end", find: (*cursor).openRange},
	{name: "range of Swift", pattern: `« .. ~^< »`,
		says: "a range without its end is written `a..b`", write: "..", sure: true},
	{name: "three dots", pattern: `« .. ~^. »`,
		says: "a range is written `a..b` without its end, `a..=b` with it", write: ".."},
	{name: "increment", find: (*cursor).increment},

	// Operators.
	{name: "comparison of other languages", pattern: `« ANY ^~ANY »`, when: foreignComparison,
		says: "there is no operator `${1-2}`", write: "${1-2|cmp}", sure: true},
	{name: "chained comparison", find: (*cursor).chainedComparison},
	{name: "angles around a type", find: (*cursor).angles},
	{name: "is not", pattern: `\OPERAND « $^is $not » START`, says: "there is no operator `is not`", write: "!=", sure: true},
	{name: "xor", pattern: `\OPERAND « ^xor » START`, says: "there is no operator `xor`", write: "!=",
		also: "for conditions, `^` for the bits of ints"},
	{name: "word for an operator", pattern: `\OPERAND « ^WORDOP » START`,
		says: "there is no operator `$1`", write: "${1|op}", sure: true},
	{name: "membership", in: "if|while|assert|let|return|print", pattern: `\OPERAND ‹ ^in ›`,
		says: "`in` goes over a list, and tests nothing", help: "whether a list holds a value tells a loop: `for v in xs { if v == x { found = true } }`"},
	{name: "no membership", in: "if|while|assert|let|return|print", pattern: `\OPERAND ‹ $^not $in ›`,
		says: "`${1-2}` goes over a list, and tests nothing", help: "whether a list holds a value tells a loop: `for v in xs { if v == x { found = true } }`"},
	{name: "unsigned shift", pattern: `‹ >> ~^> ›`, says: "there is no operator `>>>`", help: "`>>` keeps the sign, and shifts zeros into unsigned elements"},
	{name: "and not of bits", pattern: `‹ & ~^^ ›`, says: "there is no operator `&^`", help: "write `a & ~b`"},
	{name: "elif", pattern: `} « ‹ $^elif|elsif|elseif|elseIf › if? »`,
		says: "`$1` is not a word of the language", write: "else if", sure: true},

	// Declarations.
	{name: "mode in front of a parameter", in: "DECLARATION", bracket: "(", pattern: `\(|, « ID ^ID : X »`, when: modeFirst,
		says: ": the mode comes before the type", write: "$2: $1 $3", sure: true},
	{name: "mode, name and type", in: "DECLARATION", bracket: "(", pattern: `\(|, « MODE ^ID &ID X »`, when: noColonInCodelet,
		says: ": a parameter is written `name: MODE type`", write: "$2: $1 $3", sure: true},
	{name: "type and name", in: "DECLARATION", bracket: "(", pattern: `\(|, « ID ^&ID X »`, when: typeAndName,
		says: ": a parameter is written `name: type`", write: "$2: $1", sure: true},
	{name: "name and type", in: "DECLARATION", bracket: "(", pattern: `\(|, « ID ^&ID X »`, when: noColon,
		says: ": a parameter is written `name: type`", write: "$1: $2", sure: true},
	{name: "mode in a function", in: "FUNC", bracket: "any", pattern: `« ANY : ‹ MODE › ^&ID X »`,
		says: "a function takes data without an access mode", write: "$1: $3", help: "write `$W`; the tasks in it say how they use `$1`", sure: true},
	{name: "pointer", in: "DECLARATION", bracket: "any", pattern: `^&*`, find: (*cursor).pointer},
	{name: "result behind a colon", in: "FUNC", bracket: "none", pattern: `\) « ^: &ID X » &{`,
		says: ": the type of the result follows `->`", write: "$_-> $1", sure: true},
	{name: "result without an arrow", in: "FUNC", bracket: "none", pattern: `\) « &ID ^X » &{`,
		says: ": the type of the result follows `->`", write: "$_-> $1", sure: true},
	{name: "result behind a colon, and a colon", in: "FUNC", bracket: "none", pattern: `\) « ^: &ID X » : NL`,
		says: ": the type of the result follows `->`", write: "$_-> $1", sure: true},
	{name: "result without an arrow, and a colon", in: "FUNC", bracket: "none", pattern: `\) « &ID ^X » : NL`,
		says: ": the type of the result follows `->`", write: "$_-> $1", sure: true},
	{name: "fat arrow in a declaration", in: "FUNC", bracket: "none", pattern: `« ^= > »`,
		says: "the type of the result follows `->`", write: "->", sure: true},
	{name: "let ==", pattern: `| let ANY « ^== »`, says: ": a name is given its value by `=`", write: "=", sure: true},
	{name: "let :=", pattern: `| « let ANY ‹ : ~^= › »`, says: "a name is given its value by `=`", write: "let $1 =", sure: true},
	{name: "let mut", pattern: `| « let ‹ $mut|mutable › ^ID »`,
		says: "every `let` name may change, so `$1` is not written", write: "let $2", sure: true},
	{name: "let with a type first", pattern: `| « let CTYPE ^ID »`, says: ": `let` is followed by the name", write: "let $2", sure: true},
	{name: "let without a value", pattern: `| ‹ let ANY › ^END`,
		says: "`let` gives a name its first value", help: "write `let $1 = …` with the value that it begins with"},
	{name: "let with a type, without a value", pattern: `| ‹ let ANY : UPTO «_ » › ^END`, when: hasFirstValue,
		says: "`let` gives a name its first value", help: "write `let $1: $2 = ${2|zero}`, or another value that it begins with", write: " = ${2|zero}"},
	{name: "let with a type of a program, without a value", pattern: `| ‹ let ANY : UPTO › ^END`,
		says: "`let` gives a name its first value", help: "write `let $1: $2 = …` with the value that it begins with"},
	{name: "let of several names", pattern: `| let ANY ^&,`, find: (*cursor).several},
	{name: "let of a tuple", pattern: `| let ^&(`, find: (*cursor).several},
	{name: "let a = b = c", pattern: `| « let ANY = ID ^= !> REST »`,
		says: ": one statement gives one name its value", write: "let $2 = $3\n$Ilet $1 = $2",
		help: "write `let $2 = $3`, and below it `let $1 = $2`", sure: true},
	{name: "assignment by :=", pattern: `| « ID ‹ ^: = › »`, when: declaredByLet,
		says: "a name is given its value by `=`", write: "$1 ="},
	{name: "declaration by :=", pattern: `| « ID ^: = »`, says: "a new name is declared with `let`", write: "let $1 =", sure: true},
	{name: "std::", pattern: `| ‹ std ^: : ›`, says: "there is no module `std`",
		help: "text is written by `print(…)`; the builtin functions need no module"},
	{name: "name by ::", pattern: `| ID « ^~: : »`, says: "a name of a module follows a point", write: ".", sure: true},
	{name: "declaration with a type", pattern: `| ‹ «» ID ^: › ID`,
		says: "a new name is declared with `let`", help: "write `let $1: $2 = …`", write: "let ", sure: true},
	{name: "swap", pattern: `| « ID ^, ID = ID , ID »`, when: swapped,
		says: ": one statement gives one name its value", write: "let last = $1\n$I$1 = $2\n$I$2 = last",
		help: "write `let last = $1`, `$1 = $2` and `$2 = last`; registered data gets names that can change first: `let a = x`"},
	{name: "assignment to several names", pattern: `| ID ^, ID`,
		says: ": one statement gives one name its value", help: "write one assignment for each, with a `let` for what has to be kept"},
	{name: "assert as a function", bracket: "(", pattern: `| « assert ( UPTO $^, X ) »`,
		says: "`assert` is a statement, not a function", write: "assert ${1-3}", sure: true},
	{name: "braces around values", find: (*cursor).braces},
	{name: "arrow for a comparison", in: "if|while|assert", pattern: `« ^= ~> »`, says: "there is no operator `=>`", write: ">=", sure: true},
	{name: "function of JavaScript", pattern: `^= ~>`, says: ": every function has a name", help: namelessHelp},
	{name: "function of Java", in: "let", pattern: `^->`, when: spaceBefore, says: ": every function has a name", help: namelessHelp},
	{name: "lambda", pattern: `lambda ^&ANY|NL`, says: ": every function has a name", help: namelessHelp},
	{name: "function as a value", pattern: `^func`, when: notFirst, says: ": every function has a name", help: namelessHelp},
	{name: "result of a codelet", in: "codelet", bracket: "none", pattern: `\) ^->`, says: ": a codelet has no result",
		help: "it writes its operands: add one such as `result: W variable[f64]`, and write `result = …`"},
	{name: "field behind an arrow", in: "!func", pattern: `\OPERAND « ^-> » ID`, says: "a field follows a point", write: ".", sure: true},
	{name: "initial value of a type", in: "register", bracket: "none", pattern: `\] «_ ^= REST »`, when: secondAssignment,
		says: ": an initial value is given by `fill`", write: "(fill = $1)", sure: true},
	{name: "initial value and no sizes", in: "register", bracket: "none", pattern: `\( « ) ^= REST »`, when: secondAssignment,
		says: ": an initial value is given by `fill`", write: "fill = $1)", sure: true},
	{name: "initial value and sizes", in: "register", bracket: "none", pattern: `« ) ^= REST »`, when: secondAssignment,
		says: ": an initial value is given by `fill`", write: ", fill = $1)", sure: true},
	{name: "initial value", in: "register", bracket: "none", pattern: `^= REST`, when: secondAssignment,
		says: ": an initial value is given by `fill`"},

	// Modules, tasks and data.
	{name: "import of several", pattern: `| import ^(`, says: ": each module has an `import` of its own", help: "write `import \"std/blas\" as blas`"},
	{name: "import of a path", pattern: `| import « &ID ^PATH »`, when: longPath,
		says: ": the name of a module is written in quotes", write: `"${1|slashes}"`, sure: true},
	{name: "import of a standard module", pattern: `| import « $^blas|reduce|random »`,
		says: ": the name of a module is written in quotes", write: `"std/$1"`, sure: true},
	{name: "import of a foreign module", pattern: `| import $^numpy|math|sys|os|time|scipy|torch|cmath|random_|std|fmt`,
		says: ": the name of a module is written in quotes",
		help: "there is no module `$1`: the builtin functions need none, and data is worked on by codelets; `starpush doc` lists them"},
	{name: "import of a name", pattern: `| import ^ID`, says: ": the name of a module is written in quotes",
		help: "a module is written `import \"std/blas\" as blas`, a file `import \"$1.spu\"`"},
	{name: "insert as a function", pattern: `« ‹ insert ^( › ID , _»`,
		says: "the codelet follows `insert`, its operands in parentheses", write: "insert $1(", sure: true},
	{name: "insert and a bracket", pattern: `‹ insert ^( ›`,
		says: "the codelet follows `insert`, its operands in parentheses", help: "write `insert f(R x, RW y)`"},
	{name: "mode in", bracket: "any", pattern: `\:|,|( « ^in » ID`, says: "`in` is not an access mode", write: "R", sure: true},
	{name: "mode of other systems", bracket: "any", pattern: `\(|, « MODEWORD » ^&ID`,
		says: "`$1` is not an access mode", write: "${1|mode}", sure: true},
	{name: "mode of other systems in a declaration", bracket: "any", pattern: `\: « MODEWORD » &ID ^&DATA`,
		says: "`$1` is not an access mode", write: "${1|mode}", sure: true},
	{name: "acquire without a mode", pattern: `| acquire !MODE ‹ ^ID ›`,
		says: "unexpected `$1`, expected an access mode (R, W or RW)", help: "write `acquire R $1 as a` to read it, `acquire RW $1 as a` to change it"},
	{name: "options behind a comma", in: "insert", bracket: "none", pattern: `\) « ^, » ID =`,
		says: "options follow `with`", help: "write `with $1 = …`", write: " with", sure: true},
	{name: "call with modes", find: (*cursor).callWithModes},
	{name: "partition by a number", in: "partition", pattern: `by « ^INT »`, says: ": how data is split says a filter",
		help: "write `blocks($1)` for a vector, `rows($1)`, `cols($1)` or `tiles($1, $1)` for a matrix", write: "blocks($1)"},
	{name: "partition into a number", in: "partition", pattern: `« ‹ ^into › INT »`, says: filterHelp, write: "by blocks($1)"},
	{name: "partition into a name", in: "partition", pattern: `« ‹ ^into › ID » !(`, says: filterHelp, write: "by blocks($1)"},
	{name: "partition as a function", pattern: `| « partition ( ANY ^, ANY ) »`, says: filterHelp, write: "partition $1 by blocks($2)"},
	{name: "data of a type and a name", pattern: `| ‹ &ID &DATA UPTO ^ID ›`,
		says: "data is registered under a name, which comes first", help: "write `register $2 = $1(…)`"},
	{name: "register of a type", pattern: `| register ‹ DATA ^[ ›`,
		says: "data is registered under a name, which comes first", help: "write `register x = $1[f64](…)`"},
	{name: "register without data", pattern: `| ‹ register ANY › ^END`,
		says: "`register` gives a name to data that a constructor makes", help: "write `register $1 = vector[f64](n)`"},
	{name: "register by colon", pattern: `| register ANY « ^: »`, says: ": data is registered with `=`", write: " =", sure: true},
	{name: "register without =", pattern: `| register ANY «» &ID ^DATA`,
		says: ": data is registered with `=`", help: "write `register $1 = $2…`", write: "= ", sure: true},
	{name: "register of several", in: "register", bracket: "none", pattern: `« ^, _» ID =`, when: secondAssignment,
		says: ": one `register` has one constructor", help: "write a `register` for each", write: "\n$Iregister ", sure: true},
	{name: "wait as a function", pattern: `| « wait ( ^) »`, says: "`wait` is a statement, not a function", write: "wait", sure: true},
	{name: "break as a function", pattern: `| ‹ $break|continue UPTO ^( ›`, says: "`$1` is a statement, not a function", help: "write `$1`"},
	{name: "codelet in quotes", in: "insert", bracket: "none", pattern: `| insert « ^STR » (`, when: quotesName,
		says: "the name of a codelet has no quotes", write: "${1|unquote}", sure: true},
	{name: "codelet that is no name, in quotes", in: "insert", bracket: "none", pattern: `| insert ‹ ^STR › (`,
		says: "the name of a codelet has no quotes", help: "a name has letters, digits and `_`"},
	{name: "operands without parentheses", in: "insert", bracket: "none", pattern: `| insert PATH !(|[ &START «_ ‹ ^LINE › » &with|{|END !{`,
		says: "the operands of a task are written in parentheses", write: "($2)", help: "write `insert $1(${2:60})`", sure: true},
	{name: "parameter with its type first", pattern: `| param|extern « CTYPE ^ID »`, when: secondNoType,
		says: ": the type follows the name and a colon", write: "$2: $1", sure: true},
	{name: "parameter without a colon", pattern: `| param|extern ID «_ » ^ID`,
		says: ": the type follows a colon", help: "write `$1: $2`", write: ":", sure: true},

	// Blocks.
	{name: "block on one line", find: (*cursor).oneLine},
	{name: "block behind a colon", bracket: "none", pattern: `^&:`, find: (*cursor).colonBlock},
	{name: "block behind a word", find: (*cursor).wordBlock},
}}

const (
	namelessHelp = "write `func f(x: float) -> float { return x + 1.0 }` at the top level, and call `f`"
	filterHelp   = "`partition` has a filter behind `by`: `blocks(4)` of a vector, `rows(4)`, `cols(4)` or `tiles(4, 4)` of a matrix"
)

// Rules lists the names of all rules.
func Rules() []string {
	var out []string
	for _, t := range []*table{&rules, &words, &effects, &uses, &hints, &trailing, &beginnings} {
		for _, r := range t.rules {
			out = append(out, r.name)
		}
	}
	return out
}

// Conditions that patterns cannot say.

// sameCaptures reports whether the last two captures are the same word.
func sameCaptures(c *cursor, m *match) bool {
	n := len(m.captures)
	return c.Str(m.captures[n-1][0]) == c.Str(m.captures[n-2][0])
}

// numberEnds reports whether nothing but the end, a sign or a word follows a number.
func numberEnds(c *cursor, m *match) bool {
	k := c.Kind(m.hi)
	return (k == token.NL || k == token.EOF || k == token.Op || k == token.Keyword) && !c.Has(m.hi, ",")
}

// thousands reports whether a number has groups of three digits.
func thousands(c *cursor, m *match) bool {
	whole := c.Str(m.captures[0][0])
	return numberEnds(c, m) && len(c.Str(m.captures[1][0])) == 3 && len(whole) <= 3 && whole != "0"
}

// inCall reports whether the token that cannot be read is an argument of a call, behind a name.
func inCall(c *cursor, m *match) bool {
	open := c.inBracket(c.at)
	return (c.Kind(open-1) == token.Ident || c.Has(open-1, "]")) && !c.declaration() && c.Kind(c.at-1) == token.Ident
}

// product reports whether @ is between expressions, and no place of an operand; named: between names.
func product(named bool) func(c *cursor, m *match) bool {
	return func(c *cursor, m *match) bool {
		if c.inBracket(c.at) >= 0 && c.Has(c.from, "insert") {
			return false
		}
		return !named || c.EndsOperand(c.at-1) && c.Kind(c.at-1) == token.Ident && c.Kind(c.at+1) == token.Ident
	}
}

// noValue reports whether no = follows the token.
func noValue(c *cursor, m *match) bool { return !c.Has(c.at+1, "=") }

// hasBy reports whether by follows the name behind partition.
func hasBy(c *cursor, m *match) bool { return c.Has(c.from+2, "by") }

// freeIndex reports whether the expression captured last has no name i.
func freeIndex(c *cursor, m *match) bool {
	last := m.captures[len(m.captures)-1]
	for i := last[0]; i < last[1]; i++ {
		if c.Str(i) == "i" {
			return false
		}
	}
	return true
}

// unnamed reports whether no as is in front of the last token.
func unnamed(c *cursor, m *match) bool { return c.at >= c.from+3 && !c.Has(c.at-2, "as") }

// wholeStatement reports whether the expression around the token is all of the statement.
func wholeStatement(c *cursor, m *match) bool { return c.exprStart(c.at, nil) == c.from }

// oneColon reports whether a range has one colon.
func oneColon(c *cursor, m *match) bool {
	last := m.captures[len(m.captures)-1]
	return !strings.ContainsAny(c.text(last[0], last[1]), ":,")
}

// noCall reports whether no parenthesis ends in front of the token.
func noCall(c *cursor, m *match) bool { return !c.Has(c.at-1, ")") }

// commaSecond reports whether a comma follows the first name in brackets.
func commaSecond(c *cursor, m *match) bool { return c.Has(c.at+2, ",") }

// plainItems reports whether a list has no list in it and is on one line.
func plainItems(c *cursor, m *match) bool {
	last := m.captures[len(m.captures)-1]
	return !strings.ContainsAny(c.text(last[0], last[1]), "{\n")
}

// deviceNumber reports whether a device with its number is named: gpu(0).
func deviceNumber(c *cursor, m *match) bool { return c.Has(c.at+2, "(") }

// oneToken reports whether the expression captured last is one token.
func oneToken(c *cursor, m *match) bool {
	last := m.captures[len(m.captures)-1]
	return last[1] == last[0]+1
}

// anyDevice reports whether a word for devices of any kind is captured.
func anyDevice(c *cursor, m *match) bool {
	switch strings.ToLower(c.Str(c.at + 1)) {
	case "gpu", "gpus", "device", "accelerator", "accel":
		return oneToken(c, m)
	}
	return false
}

// kindOfWorker writes the name of a kind of workers in small letters.
func kindOfWorker(s string) string {
	switch low := strings.ToLower(s); low {
	case "cpu", "cuda", "opencl":
		return low
	}
	return s
}

// beginsWithIf reports whether the expression in front of the token begins with if.
func beginsWithIf(c *cursor, m *match) bool { return c.Has(m.lo, "if") }

// oneLineMatch reports whether the bracket around the token is on one line.
func oneLineMatch(c *cursor, m *match) bool {
	open := c.inBracket(c.at)
	return !strings.Contains(c.text(open, c.closingOf(open)), "\n")
}

// foreignComparison reports whether two tokens are a comparison of another language.
func foreignComparison(c *cursor, m *match) bool {
	return vocab.ForeignComparisons[c.text(m.lo, m.hi)] != "" && !(c.Has(m.lo, "=") && c.Has(c.from, "let"))
}

// modeFirst reports whether a parameter begins with a mode.
func modeFirst(c *cursor, m *match) bool { return token.ModeOf(c.Str(c.at-1)) != 0 }

// noColon reports whether a parameter has no colon.
func noColon(c *cursor, m *match) bool { return !c.Has(c.exprEnd(c.at, ":"), ":") }

// noColonInCodelet is noColon where a parameter may have a mode.
func noColonInCodelet(c *cursor, m *match) bool { return noColon(c, m) && c.declaring() != "func" }

// typeAndName reports whether the type of a parameter comes in front of its name.
func typeAndName(c *cursor, m *match) bool {
	first, second := c.Str(c.at-1), c.Str(c.at)
	return noColon(c, m) && (token.ModeOf(first) != 0 && c.declaring() != "func" || vocab.Constructors[first] || vocab.CTypes[first] && !vocab.CTypes[second] && !vocab.Constructors[second])
}

// firstValues are the values that names of a type most often begin with.
var firstValues = map[string]string{"int": "0", "float": "0.0", "bool": "false", "string": `""`}

// firstValue is the value that a name of the type most often begins with.
func firstValue(typ string) string {
	if strings.HasPrefix(typ, "list[") {
		return "[]"
	}
	return firstValues[typ]
}

// hasFirstValue reports whether the type captured last has a first value.
func hasFirstValue(c *cursor, m *match) bool {
	last := m.captures[len(m.captures)-1]
	return firstValue(c.text(last[0], last[1])) != ""
}

// declaredByLet reports whether let declares the name that the statement begins with.
func declaredByLet(c *cursor, m *match) bool { return c.DeclaredBy("let", c.Str(c.from)) }

// swapped reports whether the captures are a, b, b and a, and the statement ends with them.
func swapped(c *cursor, m *match) bool {
	at := func(k int) string { return c.Str(m.captures[k][0]) }
	return at(0) == at(3) && at(1) == at(2) && m.hi == c.end
}

// notFirst reports whether the statement does not begin with the token.
func notFirst(c *cursor, m *match) bool { return c.at > c.from }

// spaceBefore reports whether a blank is in front of the token.
func spaceBefore(c *cursor, m *match) bool { return !c.Touching(c.at - 1) }

// secondAssignment reports whether the expression in front of the token is assigned by a
// first =, and something follows.
func secondAssignment(c *cursor, m *match) bool {
	return c.at+1 < c.end && c.Has(c.exprStart(c.at, nil)-1, "=")
}

// longPath reports whether a path has more than one name.
func longPath(c *cursor, m *match) bool { return m.hi > c.at+1 }

// quotesName reports whether the text in quotes is a name.
func quotesName(c *cursor, m *match) bool { return isName(strings.Trim(c.Str(c.at), `"`)) }

// secondNoType reports whether the token is no type of C.
func secondNoType(c *cursor, m *match) bool { return !vocab.CTypes[c.Str(c.at)] }
