// Package token cuts the text of a script into tokens.
//
// Scan makes the tokens and keeps the comments; Layout then decides which newlines end a
// statement, pairs the brackets and reports those that are never closed. A List is the
// tokens, with what the parser and its advice look up in them. A Mistake is a syntax
// error, by offset. Strings stay as written, so that a string "if" is never taken for the
// word. The signs, quotes, comments and numbers of other languages, which are no tokens
// here, are reported together with their edits.
package token
