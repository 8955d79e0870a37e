// Package syntax turns the text of a script into a tree.
//
// A text goes through these steps:
//
//   - Package token cuts it into tokens and keeps the comments. Its layout pass decides
//     which newlines end a statement, pairs the brackets and reports those that are never
//     closed.
//   - The statement driver (parse.go) finds the tokens of one statement, without
//     its block, and hands them to the participle parser of the production that
//     the first word names. The participle grammar is in grammar.go, as structs and tags. Blocks nest in the driver, so a mistake costs one
//     statement and one run reports many of them. The commonest statements are read
//     by hand first, and by the grammar when that does not work.
//   - Expressions are a production of their own (expr.go): precedence climbing over
//     the lexer that participle hands over. Lowering (lower.go) makes the tree of
//     ast.go, with exact byte ranges.
//
// Nothing in a text can overflow the stack: brackets, blocks and operators nest to fixed
// limits, above which there is a diagnostic. Parse never panics and its File is never
// nil.
//
// All functions are safe for concurrent use.
package syntax
