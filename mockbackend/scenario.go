package mockbackend

import "sync"

// firstState is the state every scenario begins in.
const firstState = "started"

// scenarios holds the state of each named scenario.
type scenarios struct {
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

// advance moves a scenario on, if it is still in the state the stub wanted.
func (c *scenarios) advance(name, from, to string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.states[name]
	if state == "" {
		state = firstState
	}
	if from != "" && from != state {
		return false
	}
	if to != "" {
		if c.states == nil {
			c.states = map[string]string{}
		}
		c.states[name] = to
	}
	return true
}

func (c *scenarios) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.states = nil
}
