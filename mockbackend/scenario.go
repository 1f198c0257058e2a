package mockbackend

import "sync"

// firstState is the state every scenario begins in.
const firstState = "started"

// scenarios holds the state of each named scenario.
type scenarios struct {
	// deciding is held while a request is compared with stubs that have a
	// scenario, until the one that takes it has moved it on: all see one state.
	deciding sync.Mutex

	mu     sync.Mutex
	states map[string]string
}

func (c *scenarios) state(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state := c.states[name]; state != "" {
		return state
	}
	return firstState
}

// set moves a scenario on; an empty state leaves it alone.
func (c *scenarios) set(name, state string) {
	if state == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.states == nil {
		c.states = map[string]string{}
	}
	c.states[name] = state
}

func (c *scenarios) reset() {
	c.deciding.Lock()
	defer c.deciding.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states = nil
}
