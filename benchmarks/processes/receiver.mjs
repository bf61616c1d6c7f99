// Counts requests and answers 204, except to `/hang`. Uses raw sockets, because node:http would be
// the bottleneck. With `log`, records the arrival of the first byte of each event.
import { createServer } from 'node:net'
import { answer } from './answer.mjs'

const { log = false } = JSON.parse(process.argv[2])
const ANSWER = 'HTTP/1.1 204 No Content\r\n\r\n'
const HEAD_END = Buffer.from('\r\n\r\n')
const arrivals = []
let received = 0

const server = createServer({ noDelay: true }, (socket) => {
  let rest = Buffer.alloc(0)
  let firstByteAt = 0
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    if (rest.length === 0) firstByteAt = Number(process.hrtime.bigint())
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let answers = ''
    for (let end = requestEnd(rest); end !== undefined; end = requestEnd(rest)) {
      const hangs = rest.latin1Slice(0, 10) === 'POST /hang'
      if (log && !hangs) note(rest.latin1Slice(0, end), firstByteAt)
      rest = rest.subarray(end)
      received++
      if (!hangs) answers += ANSWER
    }
    if (answers !== '') socket.write(answers)
  })
})

function note(request, at) {
  arrivals.push({ messageId: /"messageId":"([^"]+)"/.exec(request)?.[1], at })
}

function requestEnd(data) {
  const headEnd = data.indexOf(HEAD_END)
  if (headEnd === -1) return undefined
  const length = Number(/content-length: *(\d+)/i.exec(data.latin1Slice(0, headEnd))?.[1] ?? 0)
  const end = headEnd + HEAD_END.length + length
  return data.length >= end ? end : undefined
}

server.listen(0, '127.0.0.1', () => {
  const origin = `http://127.0.0.1:${server.address().port}`
  answer(
    { url: `${origin}/hook`, hanging: `${origin}/hang` },
    { count: () => ({ received }), arrivals: () => arrivals },
  )
})
