// client asks a URL all the time and says what came back: a line for each failure, and one every second with the versions that answered
// since the line before.
//
//	client URL [HOST-HEADER] [REQUESTS-PER-SECOND] [keep]
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	url, host, rps, keep := os.Args[1], "", 25, false
	if len(os.Args) > 2 {
		host = os.Args[2]
	}
	if len(os.Args) > 3 {
		rps, _ = strconv.Atoi(os.Args[3])
	}
	if len(os.Args) > 4 {
		keep = true
	}
	c := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: !keep, MaxIdleConnsPerHost: 50}}
	var mu sync.Mutex
	total, failed := 0, 0
	seen := map[string]int{}
	go func() {
		for range time.Tick(time.Second) {
			mu.Lock()
			keys := []string{}
			for k, n := range seen {
				keys = append(keys, fmt.Sprintf("%s=%d", k, n))
			}
			sort.Strings(keys)
			fmt.Println(time.Now().Unix(), "total", total, "failed", failed, strings.Join(keys, " "))
			seen = map[string]int{}
			mu.Unlock()
		}
	}()
	for range time.Tick(time.Second / time.Duration(rps)) {
		go func() {
			req, _ := http.NewRequest("GET", url, nil)
			if host != "" && host != "-" {
				req.Host = host
			}
			begin := time.Now()
			res, err := c.Do(req)
			version, why := "?", ""
			if err != nil {
				why = err.Error()
			} else {
				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				var v struct{ Version string }
				json.Unmarshal(body, &v)
				if v.Version != "" {
					version = v.Version
				}
				if err != nil {
					why = err.Error()
				} else if res.StatusCode != 200 {
					why = fmt.Sprint(res.StatusCode, " ", strings.TrimSpace(string(body)))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			total++
			if why != "" {
				failed++
				fmt.Println(begin.Unix(), "FAILED after", time.Since(begin).Round(time.Millisecond), why)
				version = "failed"
			}
			seen[version]++
		}()
	}
}
