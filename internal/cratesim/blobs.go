package cratesim

import (
	"crypto/sha1" // what a blob is named by
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"time"

	"stevedore.dev/stevedore/internal/cratesim/model"
)

// serveBlobs is /_blobs/TABLE/DIGEST: PUT and HEAD. A blob's content is checked
// against its digest and not kept; a real node may also answer 307 to the one
// that has the shard.
func (n *node) serveBlobs(w http.ResponseWriter, r *http.Request, hub *conn) {
	table, digest, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/_blobs/"), "/")
	if !ok || len(digest) != sha1.Size*2 || table == "" {
		http.Error(w, "Not Found", http.StatusNotFound)
		return
	}
	name := `blob."` + strings.ReplaceAll(table, `"`, `""`) + `"`
	var ask frame
	switch r.Method {
	case http.MethodPut:
		content := sha1.New()
		if _, err := io.Copy(content, http.MaxBytesReader(w, r.Body, 64<<20)); err != nil || hex.EncodeToString(content.Sum(nil)) != digest {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		ask = frame{Op: opExec, Stmt: "INSERT INTO " + name + " (digest, last_modified) VALUES (?, ?)", Args: []any{digest, time.Now().UnixMilli()}}
	case http.MethodHead:
		ask = frame{Op: opExec, Stmt: "SELECT digest FROM " + name + " WHERE digest = ?", Args: []any{digest}}
	default:
		w.Header().Set("Allow", "PUT, HEAD")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	res, err := hub.ask(ask)
	switch {
	case err != nil || res.Gone:
		disconnected(w, n)
	case res.Error != nil && res.Error.Code == model.ErrDuplicateKey().Code:
		w.WriteHeader(http.StatusConflict)
	case res.Error != nil:
		status := res.Error.HTTP
		if status == 0 {
			status = http.StatusInternalServerError
		}
		w.WriteHeader(status)
	case r.Method == http.MethodPut:
		w.WriteHeader(http.StatusCreated)
	case res.RowCount == 0:
		w.WriteHeader(http.StatusNotFound)
	}
}
