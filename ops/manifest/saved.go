package manifest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"stevedore.dev/stevedore/internal/deflated"
	"stevedore.dev/stevedore/ops/model"
)

const (
	// rememberedSuffix marks the object that was effective before a restart.
	rememberedSuffix = "@before"
	// liveSuffix marks the object that is live, while another one is recorded and was not
	// seen applied.
	liveSuffix = "@live"
	// maxSavedBytes bounds one unpacked object: a damaged record fills no memory.
	maxSavedBytes = 4 << 20
)

// pack returns the packed object; before stays as it is when it says the same,
// though another release might compress it otherwise.
func pack(set *unstructured.Unstructured, before string) string {
	text, _ := json.Marshal(set.Object) // it came from JSON or YAML
	if old, err := inflate(before); err == nil && bytes.Equal(old, text) {
		return before
	}
	return base64.StdEncoding.EncodeToString(deflated.Zip(text))
}

func inflate(packed string) ([]byte, error) {
	raw, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		return nil, err
	}
	return deflated.Unzip(raw, maxSavedBytes)
}

func unpack(s model.Saved, name string) (*unstructured.Unstructured, error) {
	packed, ok := s[name]
	if !ok {
		return nil, fmt.Errorf("the record holds no object of StatefulSet %s, which is to stay as it is; rebuild the record from what is live", name)
	}
	o := &unstructured.Unstructured{}
	text, err := inflate(packed)
	if err == nil {
		err = o.UnmarshalJSON(text)
	}
	if err != nil {
		return nil, fmt.Errorf("unpacking StatefulSet %s of the record: %w", name, err)
	}
	return o, nil
}

func savedNames(set string) []string {
	return []string{set, set + liveSuffix, set + rememberedSuffix}
}

func savedOf(saved model.Saved, set string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, name := range savedNames(set) {
		if o, err := unpack(saved, name); err == nil {
			out = append(out, o)
		}
	}
	return out
}
