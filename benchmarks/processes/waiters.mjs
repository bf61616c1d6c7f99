// Waiting callers. Each has a connection and almost no memory.
import { connect } from 'node:net'
import { once } from 'node:events'
import { answer } from './answer.mjs'

const CONCURRENCY = 100

async function enter({ url, headers, waiting }) {
  for (let n = 0; n < waiting; n += CONCURRENCY) {
    await Promise.all(
      Array.from({ length: Math.min(CONCURRENCY, waiting - n) }, (_, i) =>
        request(url, headers, `session-${n + i}`),
      ),
    )
  }
}

async function request(url, headers, sessionId) {
  const { hostname, port, pathname, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const body = JSON.stringify({ sessionId, message: 'Hello, can you help me?' })
  const all = {
    host,
    ...headers,
    'content-type': 'application/json',
    'content-length': body.length,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`POST ${pathname} HTTP/1.1\r\n${lines.join('')}\r\n${body}`)
}
answer({}, { enter })
