package lsp

// The messages of the protocol, as far as the server uses them.

import "encoding/json"

type textDocument struct {
	URI string `json:"uri"`
}

type openParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	} `json:"textDocument"`
}

type changeParams struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	} `json:"textDocument"`
	Changes []contentChange `json:"contentChanges"`
}

type contentChange struct {
	Range *textRange `json:"range"` // nil: the text is all there is
	Text  string     `json:"text"`
}

type documentParams struct {
	TextDocument textDocument `json:"textDocument"`
	Range        textRange    `json:"range"` // of code actions and inlay hints
}

type positionParams struct {
	TextDocument textDocument `json:"textDocument"`
	Position     position     `json:"position"`
	NewName      string       `json:"newName"` // of rename
	Context      struct {
		IncludeDeclaration bool `json:"includeDeclaration"`
	} `json:"context"` // of references
}

type location struct {
	URI   string    `json:"uri"`
	Range textRange `json:"range"`
}

type textEdit struct {
	Range   textRange `json:"range"`
	NewText string    `json:"newText"`
}

type workspaceEdit struct {
	Changes map[string][]textEdit `json:"changes"`
}

type diagnostic struct {
	Range    textRange `json:"range"`
	Severity int       `json:"severity"`
	Code     string    `json:"code,omitempty"`
	Source   string    `json:"source"`
	Message  string    `json:"message"`
	Tags     []int     `json:"tags,omitempty"`
	Related  []related `json:"relatedInformation,omitempty"`
}

type related struct {
	Location location `json:"location"`
	Message  string   `json:"message"`
}

type publishParams struct {
	URI         string       `json:"uri"`
	Version     *int         `json:"version,omitempty"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

type hover struct {
	Contents markup    `json:"contents"`
	Range    textRange `json:"range"`
}

type completionItem struct {
	Label    string     `json:"label"`
	Kind     int        `json:"kind"`
	Detail   string     `json:"detail,omitempty"`
	Doc      *markup    `json:"documentation,omitempty"`
	SortText string     `json:"sortText"`
	Edit     textEdit   `json:"textEdit"`
	More     []textEdit `json:"additionalTextEdits,omitempty"`
}

type documentSymbol struct {
	Name      string    `json:"name"`
	Detail    string    `json:"detail,omitempty"`
	Kind      int       `json:"kind"`
	Range     textRange `json:"range"`
	Selection textRange `json:"selectionRange"`
}

type inlayHint struct {
	Position     position `json:"position"`
	Label        string   `json:"label"`
	Kind         int      `json:"kind"`
	Tooltip      string   `json:"tooltip"`
	PaddingRight bool     `json:"paddingRight"`
}

type codeAction struct {
	Title       string        `json:"title"`
	Kind        string        `json:"kind"`
	Diagnostics []diagnostic  `json:"diagnostics"`
	Edit        workspaceEdit `json:"edit"`
}

type signatureHelp struct {
	Signatures []signature `json:"signatures"`
	Signature  int         `json:"activeSignature"`
	Parameter  int         `json:"activeParameter"`
}

type signature struct {
	Label      string      `json:"label"`
	Doc        *markup     `json:"documentation,omitempty"`
	Parameters []parameter `json:"parameters"`
}

type parameter struct {
	Label [2]int  `json:"label"` // in UTF-16 units of the label of its signature
	Doc   *markup `json:"documentation,omitempty"`
}

type semanticTokens struct {
	Data []uint32 `json:"data"` // five numbers a token
}

// tokenKinds and tokenModifiers are the kinds of lang.SyntaxToken and what else it says,
// numbered for semanticTokens.
var (
	tokenKinds = []string{"comment", "string", "number", "operator", "keyword", "modifier", "type", "namespace", "method",
		"function", "parameter", "variable", "property"}
	tokenModifiers = []string{"declaration", "readonly", "defaultLibrary"}
)

// requests and notifications are what the server answers to, besides those that
// begin and end the connection.
var requests = map[string]func(*server, json.RawMessage) (any, *rpcError){
	"textDocument/hover":             (*server).hover,
	"textDocument/completion":        (*server).completion,
	"textDocument/definition":        (*server).definition,
	"textDocument/references":        (*server).references,
	"textDocument/documentHighlight": (*server).highlight,
	"textDocument/prepareRename":     (*server).prepareRename,
	"textDocument/rename":            (*server).rename,
	"textDocument/documentSymbol":    (*server).symbols,
	"textDocument/formatting":        (*server).formatting,
	"textDocument/inlayHint":         (*server).inlayHints,
	"textDocument/codeAction":        (*server).codeActions,

	"textDocument/signatureHelp":        (*server).signatureHelp,
	"textDocument/semanticTokens/full":  (*server).semanticTokens,
	"textDocument/semanticTokens/range": (*server).semanticTokensIn,
}

var notifications = map[string]func(*server, json.RawMessage) *rpcError{
	"textDocument/didOpen":            (*server).didOpen,
	"textDocument/didChange":          (*server).didChange,
	"textDocument/didClose":           (*server).didClose,
	"textDocument/didSave":            (*server).filesChanged,
	"workspace/didChangeWatchedFiles": (*server).filesChanged,
}

// capabilities tells the editor what there is.
func (s *server) capabilities() any {
	type m = map[string]any
	return m{
		"serverInfo": m{"name": "starpush", "version": s.opts.Version},
		"capabilities": m{
			"positionEncoding":           "utf-16",
			"textDocumentSync":           m{"openClose": true, "change": 2, "save": m{"includeText": false}},
			"hoverProvider":              true,
			"completionProvider":         m{"triggerCharacters": []string{"."}},
			"definitionProvider":         true,
			"referencesProvider":         true,
			"documentHighlightProvider":  true,
			"renameProvider":             m{"prepareProvider": true},
			"documentSymbolProvider":     true,
			"documentFormattingProvider": true,
			"inlayHintProvider":          true,
			"codeActionProvider":         m{"codeActionKinds": []string{"quickfix"}},
			"signatureHelpProvider":      m{"triggerCharacters": []string{"(", ","}},
			"semanticTokensProvider":     m{"legend": m{"tokenTypes": tokenKinds, "tokenModifiers": tokenModifiers}, "full": true, "range": true},
		},
	}
}
