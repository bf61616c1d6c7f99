// Callers who wait, each on a connection of its own, with as little as can be behind it.
import { connect } from 'node:net'
import { once } from 'node:events'
import { answer } from './answer.mjs'

const AT_ONCE = 100

async function enter({ url, headers, waiting }) {
  for (let n = 0; n < waiting; n += AT_ONCE) {
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, waiting - n) }, (_, i) =>
        request(url, headers, `session-${n + i}`),
      ),
    )
  }
}

async function request(url, headers, sessionId) {
  const { hostname, port, pathname, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const body = JSON.stringify({ sessionId, message: 'Hello, is anybody there?' })
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
