package lsp

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sevengate/sevengate/internal/engine/lspclient"
)

// Limits of what is said after an edit.
const (
	// MaxEditWait is how long an edit waits for diagnostics at most.
	MaxEditWait = 2 * time.Second
	// editQuiet is as [DiagnosticsQuiet], for edits.
	editQuiet = 300 * time.Millisecond
	// MaxEditDiagnostics is how many are shown after an edit.
	MaxEditDiagnostics = 10
)

// DiagnosticsAfter tells the server of a file that was just changed, and gives in
// words the errors and warnings that it did not have before; "" where there are none,
// where no server fits, and where the server has not answered within timeout (at most
// [MaxEditWait], which 0 means). A server that does not run yet is started meanwhile,
// for the next time; nothing here ever fails an edit.
func (s *Service) DiagnosticsAfter(ctx context.Context, path string, timeout time.Duration) string {
	if timeout <= 0 || timeout > MaxEditWait {
		timeout = MaxEditWait
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	path, err := s.locate(path)
	if err != nil {
		return ""
	}
	srv, err := s.server(ctx, path, nil, false)
	if err != nil || srv == nil {
		return ""
	}
	language, _ := srv.entry.spec.language(path)
	before, known := srv.Known(path)
	doc, err := srv.Sync(path, language)
	if err != nil {
		return ""
	}
	after, fresh := srv.Diagnostics(ctx, path, doc, lspclient.Quiet{Some: editQuiet, None: editQuiet})
	if !fresh {
		return ""
	}
	// The place of an old one may have moved, so it is known by its words.
	type words struct {
		severity int
		message  string
	}
	old := map[words]int{}
	for _, d := range before {
		old[words{d.Severity, d.Message}]++
	}
	var news []lspclient.Diagnostic
	for _, d := range after {
		w := words{d.Severity, d.Message}
		if old[w] > 0 {
			old[w]--
			continue
		}
		if d.Severity <= 2 {
			news = append(news, d)
		}
	}
	if len(news) == 0 {
		return ""
	}
	var b strings.Builder
	if known {
		fmt.Fprintf(&b, "New diagnostics from %s after this change:", srv.entry.spec.Name)
	} else {
		fmt.Fprintf(&b, "Diagnostics from %s for this file (some may be older than this change):", srv.entry.spec.Name)
	}
	show := newShower(s, filepath.Dir(path), nil)
	items, total := show.diagnostics(path, doc.Text, news, MaxEditDiagnostics)
	for _, it := range items {
		b.WriteString("\n" + renderItem(it))
	}
	if total > len(items) {
		fmt.Fprintf(&b, "\n(%d more are not shown)", total-len(items))
	}
	return b.String()
}
