package apply

import (
	"fmt"

	"k8s.io/client-go/tools/cache"
)

// sink takes in what a reflector receives: one goroutine calls it.
type sink struct {
	live    *Live
	watched *watched
	strip   cache.TransformFunc
}

var _ cache.TransformingStore = (*sink)(nil)

func (s *sink) Transformer() cache.TransformFunc { return s.strip }

func (s *sink) Add(item any) error { return s.Update(item) }

func (s *sink) Update(item any) error {
	kept, err := s.strip(item)
	if err != nil {
		return fmt.Errorf("taking in what the watch %s shows: %w", s.watched.id, err)
	}
	if err := s.watched.store.Update(kept); err != nil {
		return err
	}
	s.live.secretChanged(s.watched, kept, false)
	s.live.changed(s.watched, kept)
	return nil
}

func (s *sink) Delete(item any) error {
	before, _, _ := s.watched.store.Get(item)
	s.live.secretChanged(s.watched, before, true)
	if err := s.watched.store.Delete(item); err != nil {
		return err
	}
	s.live.changed(s.watched, item)
	return nil
}

// Replace takes a whole list in. Who asks why is told what is other than before.
func (s *sink) Replace(items []any, _ string) error {
	gone := map[string]any{}
	for _, key := range s.watched.store.ListKeys() {
		gone[key], _, _ = s.watched.store.GetByKey(key)
	}
	kept, changed := make([]any, 0, len(items)), make([]any, 0, len(items))
	for _, item := range items {
		stripped, err := s.strip(item)
		if err != nil {
			return fmt.Errorf("taking in what the watch %s lists: %w", s.watched.id, err)
		}
		kept = append(kept, stripped)
		key, err := itemKey(stripped)
		if err != nil {
			return err
		}
		if before := gone[key]; before == nil || versionOf(before) != versionOf(stripped) {
			changed = append(changed, stripped)
		}
		delete(gone, key)
	}
	for _, item := range gone {
		s.live.secretChanged(s.watched, item, true)
	}
	if err := s.watched.store.Replace(kept, ""); err != nil {
		return err
	}
	if s.watched.id.bare && !s.watched.listed() {
		changed = s.live.secrets.listed(s.watched.id.namespace, kept)
	}
	for _, item := range changed {
		s.live.secretChanged(s.watched, item, false)
		s.live.changed(s.watched, item)
	}
	for _, item := range gone {
		s.live.changed(s.watched, item)
	}
	if !s.watched.listed() {
		close(s.watched.synced)
	}
	return nil
}

// Resync is for handlers that want to hear of all again and again.
func (s *sink) Resync() error { return nil }
