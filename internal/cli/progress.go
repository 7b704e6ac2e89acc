package cli

import (
	"sync"

	"github.com/sevengate/sevengate/tool"
)

// progressOf hands news of running calls to whoever made them. The zero value
// is ready.
type progressOf struct {
	mu sync.Mutex
	to map[string]func(tool.Progress)
}

func (p *progressOf) set(id string, f func(tool.Progress)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to == nil {
		p.to = map[string]func(tool.Progress){}
	}
	p.to[id] = f
}

func (p *progressOf) drop(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.to, id)
}

func (p *progressOf) send(id string, news tool.Progress) {
	p.mu.Lock()
	f := p.to[id]
	p.mu.Unlock()
	if f != nil {
		f(news)
	}
}
