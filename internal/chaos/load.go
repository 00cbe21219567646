package chaos

import (
	"context"
	"crypto/sha1" // what a blob is named by
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// attemptLimit is how long the application waits for an answer.
	attemptLimit = 5 * time.Second
	// beforeRetry is how long it waits before it asks another node, once.
	beforeRetry = time.Second
)

// load is the application: a writer and a reader for each table, so that one
// table that does not answer holds up no other.
type load struct {
	nodes    *endpoints
	http     *http.Client
	password string
	pace     time.Duration
	ledgers  map[string]*ledger
	// next is the number of the next batch, over all tables.
	next atomic.Int64
	turn atomic.Int64

	end     context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	meter map[string]*Meter
}

func newLoad(nodes *endpoints, password string, pace time.Duration) *load {
	l := &load{nodes: nodes, http: newHTTP(user, password), password: password, pace: pace, ledgers: map[string]*ledger{}}
	for _, t := range tables {
		l.ledgers[t.name] = newLedger()
	}
	return l
}

// start begins to write and read, and to measure anew.
func (l *load) start(ctx context.Context) {
	l.mu.Lock()
	l.meter = map[string]*Meter{}
	for _, t := range tables {
		l.meter[t.name] = &Meter{}
	}
	l.mu.Unlock()
	ctx, l.end = context.WithCancel(ctx)
	for _, t := range tables {
		if t.gone {
			continue
		}
		l.each(ctx, func(ctx context.Context, c *client, n int) { l.write(ctx, c, t, n) })
		l.each(ctx, func(ctx context.Context, c *client, n int) { l.read(ctx, c, t, n) })
	}
}

// stop waits for the statements that are under way: their answers count.
func (l *load) stop() map[string]*Meter {
	l.end()
	l.running.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.meter
}

func (l *load) each(ctx context.Context, do func(context.Context, *client, int)) {
	l.running.Add(1)
	go func() {
		defer l.running.Done()
		c := newClient(l.http, user, l.password)
		defer c.close()
		tick := time.NewTicker(l.pace)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			// What has begun is seen to its end, or its row would be neither
			// acknowledged nor refused.
			do(context.WithoutCancel(ctx), c, n)
		}
	}()
}

// write sends one row, and each fifth time as many as seed has.
func (l *load) write(ctx context.Context, c *client, t table, n int) {
	if t.blob {
		l.writeBlob(ctx, c, t)
		return
	}
	batch, rows, statement := l.next.Add(1), 1, t.insertOne
	if n%5 == 4 {
		rows, statement = seedRows, t.insertMany
	}
	book := l.ledgers[t.name]
	book.send(batch, rows)
	written, unclear := 0, false
	l.try(ctx, t, true, func(ctx context.Context, address string) error {
		a, err := ask(ctx, c, address, statement(batch), n)
		if err != nil {
			// It may have been applied: then it is not counted a second time.
			unclear = true
			return err
		}
		book.ack(batch, a.count)
		written += a.count
		if written < rows && !unclear {
			// An answer without an error, and not all rows are in it.
			return fmt.Errorf("%d of %d rows were written", written, rows)
		}
		return nil
	})
}

// read looks up a row that was acknowledged, and each fourth time counts all.
func (l *load) read(ctx context.Context, c *client, t table, n int) {
	batch, known := l.ledgers[t.name].acknowledged(uint64(n) * 2654435761)
	if !known || n%4 == 3 {
		l.try(ctx, t, false, func(ctx context.Context, address string) error {
			_, err := ask(ctx, c, address, t.scan(), n)
			return err
		})
		return
	}
	l.try(ctx, t, false, func(ctx context.Context, address string) error {
		if t.blob {
			status, err := c.blob(ctx, http.MethodHead, address, t.name, digestOf(batch), nil)
			if err == nil && status != http.StatusOK {
				return fmt.Errorf("HTTP status %d for a blob that was acknowledged", status)
			}
			return err
		}
		a, err := ask(ctx, c, address, t.lookUp(batch), n)
		if err == nil && len(a.rows) != 1 {
			return fmt.Errorf("%w: %d rows for the key %d", errMissing, len(a.rows), batch)
		}
		return err
	})
}

// errMissing is an answer that denies a row which was acknowledged.
var errMissing = errors.New("an acknowledged row is not found")

func (l *load) writeBlob(ctx context.Context, c *client, t table) {
	batch := l.next.Add(1)
	book := l.ledgers[t.name]
	book.send(batch, 1)
	l.try(ctx, t, true, func(ctx context.Context, address string) error {
		status, err := c.blob(ctx, http.MethodPut, address, t.name, digestOf(batch), contentOf(batch))
		switch {
		case err != nil:
			return err
		case status == http.StatusCreated:
			book.ack(batch, 1)
		case status != http.StatusConflict: // that one is there already
			return fmt.Errorf("HTTP status %d", status)
		}
		return nil
	})
}

func contentOf(batch int64) []byte { return []byte("blob " + strconv.FormatInt(batch, 10)) }

func digestOf(batch int64) string {
	sum := sha1.Sum(contentOf(batch))
	return hex.EncodeToString(sum[:])
}

// ask uses both protocols in turn.
func ask(ctx context.Context, c *client, address, statement string, n int) (answer, error) {
	if n%2 == 0 {
		return c.overHTTP(ctx, address, statement)
	}
	return c.overPostgres(ctx, address, statement)
}

// errNoNode is that no pod is ready.
var errNoNode = errors.New("no node is ready")

// try runs a statement, and once more on another node if it failed.
func (l *load) try(ctx context.Context, t table, write bool, attempt func(context.Context, string) error) {
	began := time.Now()
	n := int(l.turn.Add(1))
	var tried string
	once := func() error {
		address := l.nodes.pick(n, tried)
		if address == "" {
			return errNoNode
		}
		tried = address
		ctx, cancel := context.WithTimeout(ctx, attemptLimit)
		defer cancel()
		return attempt(ctx, address)
	}
	first := once()
	var second error
	if first != nil {
		timer := time.NewTimer(beforeRetry)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
		second = once()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.meter[t.name].add(write, time.Since(began), first, second)
}
