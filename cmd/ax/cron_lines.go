package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// cronLines answers each line of standard input with one line. Answers are written as soon as no further question waits, so that a
// program may ask one after the other.
func (c *call) cronLines(f cronFlags) error {
	in, out := bufio.NewReaderSize(c.in, 64<<10), bufio.NewWriter(c.out)
	for {
		line, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read expressions: %w", err)
		}
		if line != "" {
			if _, err := out.WriteString(f.answer(strings.TrimRight(line, "\r\n")) + "\n"); err != nil {
				return fmt.Errorf("write fires: %w", err)
			}
		}
		if err != nil || in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return fmt.Errorf("write fires: %w", err)
			}
		}
		if err != nil {
			return nil
		}
	}
}

// answer is the line for one line of expression, zone and instant.
func (f cronFlags) answer(line string) string {
	fires, err := f.ask(line)
	if err != nil {
		return "ERROR: " + printable(err.Error())
	}
	return strings.Join(fires, "\t")
}

func (f cronFlags) ask(line string) ([]string, error) {
	parts := strings.Split(line, "\t")
	if len(parts) != 3 {
		return nil, fmt.Errorf("want expression, zone and instant, separated by tabs, not %s", counted(len(parts), "field"))
	}
	from, err := time.Parse(time.RFC3339, parts[2])
	if err != nil {
		return nil, fmt.Errorf("%q is no instant: write it as 2026-11-30T02:30:00+08:00", parts[2])
	}
	schedule, err := f.parse(parts[0], parts[1])
	if err != nil {
		return nil, err
	}
	instants, over := follow(schedule, from, f.count)
	var fires []string
	for _, at := range instants {
		fires = append(fires, at.UTC().Format(time.RFC3339))
	}
	if over {
		fires = append(fires, cronOver)
	}
	return fires, nil
}
