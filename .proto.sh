export PATH=/tmp/dev/v311/bin:$PATH VOXRING_CACHE=/tmp/dev/cache PYTHONPATH=/tmp/dev/wt-serve
N=$1; F=$2; T=$3; S=$4
python -m pipeline serve --config scripted --port 8799 --set pipeline.lanes=$N --set turn.stage=$T --set turn.end_model= --set turn.release_ms=320 --set turn.soft_end_ms=320 --set turn.late_release_ms=320 --set turn.early_release_ms=320 2>/tmp/serve.log &
P=$!
for i in $(seq 100); do grep -q listening /tmp/serve.log && break; sleep 0.1; done
python -m benchmarks.endpoint_clients "{\"url\":\"ws://127.0.0.1:8799/v1/voice\",\"connections\":$N,\"frame_ms\":$F,\"seconds\":$S,\"clip\":\"demos/question.wav\"}" > /tmp/found.json &
C=$!
sleep $((S-3))
ps -o pid,pcpu,cputime,rss,args --ppid $P; ps -o pid,pcpu,cputime,rss,args -p $P,$C
wait $C
kill $P; wait $P
python - <<'E'
import json,numpy as np
f=json.load(open('/tmp/found.json')); l=f.pop('latency_ms'); e=f.pop('echo_ms'); print(f)
if l: print('latency',len(l),np.percentile(l,[50,95,99]))
E
tail -3 /tmp/serve.log
