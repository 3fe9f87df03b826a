package main

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/ax-run/ax/api"
)

// routes are the part of the API that a worker uses.
func (k *kit) routes() http.Handler {
	mux := http.NewServeMux()
	const ns = "/api/v1/namespaces/default"
	mux.HandleFunc("POST "+ns+"/workers", k.register)
	mux.HandleFunc("PUT "+ns+"/workers/{id}/heartbeat", k.heartbeat)
	mux.HandleFunc("POST "+ns+"/workers/{id}/poll", k.poll)
	mux.HandleFunc("DELETE "+ns+"/workers/{id}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST "+ns+"/executions/{id}/result", k.result)
	for _, kind := range []string{"heartbeat", "logs"} {
		mux.HandleFunc("POST "+ns+"/executions/{id}/"+kind, func(w http.ResponseWriter, r *http.Request) {
			answerJSON(w, http.StatusOK, api.ProgressAnswer{Deadline: time.Now().Add(time.Hour), ServerTime: time.Now()})
		})
	}
	return mux
}

func answerJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // who has gone needs no answer
}

// read reads a request, or answers that it cannot be read.
func read(w http.ResponseWriter, r *http.Request, into any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 4<<20)).Decode(into); err != nil {
		answerJSON(w, http.StatusBadRequest, api.Problem{Status: http.StatusBadRequest, Title: http.StatusText(http.StatusBadRequest), Detail: err.Error()})
		return false
	}
	return true
}

func (k *kit) register(w http.ResponseWriter, r *http.Request) {
	var worker kitWorker
	if !read(w, r, &worker) {
		return
	}
	if worker.ID == "" || worker.Capacity < 1 || worker.Protocol < 1 {
		answerJSON(w, http.StatusUnprocessableEntity, api.Problem{Status: http.StatusUnprocessableEntity, Detail: "a registration has id, handlers, capacity and protocol"})
		return
	}
	k.mu.Lock()
	k.worker = &worker
	k.notify()
	k.mu.Unlock()
	answerJSON(w, http.StatusCreated, api.RegisteredBody{WorkerToken: k.key(), HeartbeatSeconds: kitBeat.Seconds(), Protocol: 1, Incarnation: worker.ID + "-1"})
}

// heartbeat notes what is named, and tells of what was canceled.
func (k *kit) heartbeat(w http.ResponseWriter, r *http.Request) {
	var got struct {
		Running []api.AttemptRef `json:"running"`
	}
	if !read(w, r, &got) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.running)
	answer := api.HeartbeatAnswer{Cancel: []api.AttemptRef{}, ServerTime: time.Now()}
	for _, ref := range got.Running {
		k.running[ref.ExecutionID] = true
		if _, canceled := k.canceled[ref.ExecutionID]; canceled {
			answer.Cancel = append(answer.Cancel, ref)
		}
	}
	k.beatsGot++
	k.notify()
	answerJSON(w, http.StatusOK, answer)
}

// poll gives out what waits.
func (k *kit) poll(w http.ResponseWriter, r *http.Request) {
	wish := api.PollBody{Max: 1, WaitSeconds: 20}
	if !read(w, r, &wish) {
		return
	}
	timer := time.NewTimer(time.Duration(wish.WaitSeconds * float64(time.Second)))
	defer timer.Stop()
	for {
		k.mu.Lock()
		changed := k.changed
		given := k.queue[:min(max(wish.Max, 1), len(k.queue))]
		k.queue = k.queue[len(given):]
		k.mu.Unlock()
		if len(given) > 0 {
			answerJSON(w, http.StatusOK, given)
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			answerJSON(w, http.StatusOK, []*order{})
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (k *kit) result(w http.ResponseWriter, r *http.Request) {
	var got reported
	if !read(w, r, &got) {
		return
	}
	k.mu.Lock()
	k.results[r.PathValue("id")] = got
	k.notify()
	k.mu.Unlock()
	answerJSON(w, http.StatusOK, api.Accepted{Accepted: true})
}
