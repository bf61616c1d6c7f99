// Answers 204 to everything and counts, on a raw socket: node:http would be the bottleneck of what it is to measure.
import { createServer } from 'node:net'

const ANSWER = 'HTTP/1.1 204 No Content\r\n\r\n'
const HEAD_END = Buffer.from('\r\n\r\n')
let received = 0

const server = createServer({ noDelay: true }, (socket) => {
  let rest = Buffer.alloc(0)
  socket.on('error', () => socket.destroy())
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let answers = ''
    for (let end = requestEnd(rest); end !== undefined; end = requestEnd(rest)) {
      rest = rest.subarray(end)
      received++
      answers += ANSWER
    }
    if (answers !== '') socket.write(answers)
  })
})

function requestEnd(data) {
  const headEnd = data.indexOf(HEAD_END)
  if (headEnd === -1) return undefined
  const length = Number(/content-length: *(\d+)/i.exec(data.latin1Slice(0, headEnd))?.[1] ?? 0)
  const end = headEnd + HEAD_END.length + length
  return data.length >= end ? end : undefined
}

server.listen(0, '127.0.0.1', () => process.send({ url: `http://127.0.0.1:${server.address().port}/hook` }))
process.on('message', () => process.send({ received }))
