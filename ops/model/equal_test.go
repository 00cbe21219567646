package model_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"stevedore.dev/stevedore/ops/model"
)

// What a record says and Equal does not compare is not saved, and so forgotten: a
// field that is added has to be compared.
func TestRecordsThatDifferInAnyFieldAreNotEqual(t *testing.T) {
	leaves := leavesOf(t, reflect.TypeFor[model.Record](), nil, "")
	require.Greater(t, len(leaves), 150)
	for _, leaf := range leaves {
		t.Run(leaf.name, func(t *testing.T) {
			a, b := filled(), filled()
			require.True(t, a.Equal(b))
			change(t, leaf.of(reflect.ValueOf(b).Elem()))
			switch leaf.top {
			case "SchemaVersion", "Saved":
				assert.False(t, a.Equal(b))
			case "Shown":
				// It is compared where it is written (internal/daemon): numbers in it move.
				assert.True(t, a.Equal(b))
			default:
				assert.False(t, a.DecidedEqual(b))
			}
		})
	}
}

// leaf is a value of a record that has no parts.
type leaf struct {
	name, top string
	path      []int
}

// of follows the path: the first element of each list.
func (l leaf) of(v reflect.Value) reflect.Value {
	for _, i := range l.path {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() == reflect.Slice {
			v = v.Index(0)
			continue
		}
		v = v.Field(i)
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	return v
}

func leavesOf(t *testing.T, of reflect.Type, path []int, name string) []leaf {
	t.Helper()
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch {
	case of == reflect.TypeFor[time.Time]():
	case of.Kind() == reflect.Slice:
		return leavesOf(t, of.Elem(), append(path[:len(path):len(path)], 0), name)
	case of.Kind() == reflect.Struct:
		var all []leaf
		for i := range of.NumField() {
			part := of.Field(i)
			for _, l := range leavesOf(t, part.Type, append(path[:len(path):len(path)], i), name+"."+part.Name) {
				if len(path) == 0 {
					l.top = part.Name
				}
				all = append(all, l)
			}
		}
		return all
	}
	return []leaf{{name: name, path: path}}
}

// filled is a record whose parts are all there, with one element in each list.
func filled() *model.Record {
	record := &model.Record{}
	fill(reflect.ValueOf(record).Elem())
	return record
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}

func change(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf("x"), reflect.ValueOf("y"))
	case reflect.Struct:
		v.Set(reflect.ValueOf(time.Unix(1, 0)))
	default:
		require.Fail(t, "a kind of value that this test cannot change", "%s", v.Kind())
	}
}
