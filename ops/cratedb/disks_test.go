package cratedb

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"stevedore.dev/stevedore/ops/model"
)

func TestTheDisksOfANodeAreItsFileSystems(t *testing.T) {
	for _, c := range []struct {
		name              string
		devs, sizes, used string
		want              []model.Disk
	}{
		{"one path", `["/data/data0 (/dev/sdb)"]`, `[100]`, `[40]`, []model.Disk{{Size: 100, Used: 40}}},
		{"two disks, in the order of path.data", `["/data/data0 (/dev/sdb)","/data/data1 (/dev/sdc)"]`, `[100,300]`, `[40,5]`, []model.Disk{{Size: 100, Used: 40}, {Size: 300, Used: 5}}},
		{"two paths on one file system", `["/ (/dev/vda)","/ (/dev/vda)"]`, `[100,100]`, `[40,41]`, []model.Disk{{Size: 100, Used: 41}}},
		{"one device at two places", `["/data/data0 (/dev/sdb)","/data/data1 (/dev/sdb)"]`, `[1000,1000]`, `[40,41]`, []model.Disk{{Size: 1000, Used: 41}}},
		{"quotas on one device", `["/data/data0 (/dev/sdb)","/data/data1 (/dev/sdb)"]`, `[1000,1000]`, `[40,400]`, []model.Disk{{Size: 1000, Used: 40}, {Size: 1000, Used: 400}}},
		{"disks of one size in memory", `["/data/data0 (tmpfs)","/data/data1 (tmpfs)"]`, `[100,100]`, `[0,0]`, []model.Disk{{Size: 100}, {Size: 100}}},
		{"no device is named", `["",""]`, `[100,100]`, `[40,40]`, nil},
		{"a size that CrateDB does not know", `["/a (/dev/a)","/b (/dev/b)"]`, `[100,-1]`, `[40,-1]`, nil},
		{"a size that is missing", `["/a (/dev/a)","/b (/dev/b)"]`, `[100,null]`, `[40,1]`, nil},
		{"a node that does not answer", `[]`, `[]`, `[]`, nil},
		{"NULL", ``, ``, ``, nil},
		{"columns that do not belong together", `["/a (/dev/a)"]`, `[100,100]`, `[40,40]`, nil},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, disks(c.devs, c.sizes, c.used)) })
	}
}
