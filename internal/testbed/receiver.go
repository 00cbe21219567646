package testbed

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
)

// Delivery is a webhook that a Receiver took.
type Delivery struct {
	EventID, Revision, Signature string
	Body                         []byte
	// Event, Status, Cluster and Message are from the body.
	Event, Status, Namespace, Cluster, Message string
}

// Receiver takes webhooks over real HTTP.
type Receiver struct {
	server *httptest.Server
	mu     sync.Mutex
	taken  []Delivery
	reply  int
	// hang is closed when deliveries are answered again; nil: they are.
	hang chan struct{}
	each func(Delivery)
}

// NewReceiver starts one; each is called for every delivery, nil: nothing.
func NewReceiver(each func(Delivery)) *Receiver {
	r := &Receiver{reply: http.StatusOK, each: each}
	r.server = httptest.NewServer(http.HandlerFunc(r.take))
	return r
}

// URL to give to WEBHOOK_URL.
func (r *Receiver) URL() string { return r.server.URL + "/hook" }

// Close ends it.
func (r *Receiver) Close() {
	r.Hang(false)
	r.server.Close()
}

// Hang leaves every delivery without an answer while it is on; one that comes
// meanwhile is never taken.
func (r *Receiver) Hang(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case on && r.hang == nil:
		r.hang = make(chan struct{})
	case !on && r.hang != nil:
		close(r.hang)
		r.hang = nil
	}
}

// Reply sets the status that every later delivery gets.
func (r *Receiver) Reply(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reply = status
}

// Taken are the deliveries that were answered with 200, in order.
func (r *Receiver) Taken() []Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Delivery(nil), r.taken...)
}

func (r *Receiver) take(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
	if err != nil {
		return
	}
	var fields struct {
		Event     string `json:"event"`
		Status    string `json:"status"`
		Namespace string `json:"namespace"`
		Cluster   string `json:"cluster"`
		Feedback  *struct {
			Message string `json:"message"`
		} `json:"feedback_data"`
	}
	if err := json.Unmarshal(body, &fields); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	delivery := Delivery{
		EventID: request.Header.Get("X-Stevedore-Event-Id"), Revision: request.Header.Get("X-Stevedore-Revision"),
		Signature: request.Header.Get("X-Signature"), Body: body,
		Event: fields.Event, Status: fields.Status, Namespace: fields.Namespace, Cluster: fields.Cluster,
	}
	if fields.Feedback != nil {
		delivery.Message = fields.Feedback.Message
	}
	r.mu.Lock()
	hang := r.hang
	r.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-request.Context().Done():
		}
		return
	}
	r.mu.Lock()
	status := r.reply
	if status == http.StatusOK {
		r.taken = append(r.taken, delivery)
	}
	r.mu.Unlock()
	w.WriteHeader(status)
	if status == http.StatusOK && r.each != nil {
		r.each(delivery)
	}
}
