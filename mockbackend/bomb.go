package mockbackend

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"hash/crc32"
)

// bombBlock is how much of a bomb is compressed; the rest is repetition.
const bombBlock = 1 << 20

// gzipZeros gives a gzip stream (RFC 1952) of n zeros. Its compressed blocks
// are all the same, so it is made about as fast as it can be copied.
func gzipZeros(n int64) []byte {
	zeros := make([]byte, bombBlock)
	deflate := func(size int64, last bool) []byte {
		var out bytes.Buffer
		w, err := flate.NewWriter(&out, flate.BestCompression)
		if err == nil {
			_, err = w.Write(zeros[:size])
		}
		if err == nil && last {
			err = w.Close()
		} else if err == nil {
			err = w.Flush() // to a byte boundary, so that blocks can be joined
		}
		if err != nil {
			panic("mockbackend: compressing into memory: " + err.Error())
		}
		return out.Bytes()
	}
	out := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 255}
	sum, rest := uint32(0), n
	for block := []byte(nil); rest >= bombBlock; rest -= bombBlock {
		if block == nil {
			block = deflate(bombBlock, false)
		}
		out = append(out, block...)
		sum = crc32.Update(sum, crc32.IEEETable, zeros)
	}
	out = append(out, deflate(rest, true)...)
	sum = crc32.Update(sum, crc32.IEEETable, zeros[:rest])
	out = binary.LittleEndian.AppendUint32(out, sum)
	return binary.LittleEndian.AppendUint32(out, uint32(n))
}
