// Answers each request after `latencyMs`. Answers `status` to a `share` of them, by chance, and 429
// to those beyond `perSecond` with bursts of `burst`. Counts what it accepted and refused.
import { createServer } from 'node:net'
import { answer } from './answer.mjs'

const {
  latencyMs,
  status = 503,
  share = 0,
  perSecond = Infinity,
  burst = 100,
} = JSON.parse(process.argv[2])
const HEAD_END = Buffer.from('\r\n\r\n')
let accepted = 0
let refused = 0
let tokens = burst
let filledAt = performance.now()

const server = createServer({ noDelay: true }, (socket) => {
  let rest = Buffer.alloc(0)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (let end = requestEnd(rest); end !== undefined; end = requestEnd(rest)) {
      rest = rest.subarray(end)
      const text = `HTTP/1.1 ${statusOf()} .\r\nContent-Length: 0\r\n\r\n`
      setTimeout(() => socket.write(text), latencyMs)
    }
  })
})

function statusOf() {
  const chosen = !hasToken() ? 429 : Math.random() < share ? status : 200
  if (chosen === 200) accepted++
  else refused++
  return chosen
}

function hasToken() {
  if (perSecond === Infinity) return true
  const now = performance.now()
  tokens = Math.min(burst, tokens + ((now - filledAt) * perSecond) / 1_000)
  filledAt = now
  if (tokens < 1) return false
  tokens--
  return true
}

function requestEnd(data) {
  const headEnd = data.indexOf(HEAD_END)
  if (headEnd === -1) return undefined
  const length = Number(/content-length: *(\d+)/i.exec(data.latin1Slice(0, headEnd))?.[1] ?? 0)
  const end = headEnd + HEAD_END.length + length
  return data.length >= end ? end : undefined
}

server.listen(0, '127.0.0.1', () =>
  answer(
    { url: `http://127.0.0.1:${server.address().port}/hook` },
    { count: () => ({ at: performance.now(), accepted, refused }) },
  ),
)
