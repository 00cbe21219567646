package directory

import (
	"io/fs"
	"syscall"
	"time"
)

const nonblock = syscall.O_NONBLOCK

func status(info fs.FileInfo) (changed time.Time, inode uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix()), st.Ino
	}
	return info.ModTime(), 0
}
