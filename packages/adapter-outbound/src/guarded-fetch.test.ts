import type { Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { dnsServer } from '../test/dns-server.js'
import { eventually } from '../test/eventually.js'
import { http, rawServer, rawTlsServer, type RawServer } from '../test/raw-server.js'
import { certificate } from '../test/certificate.js'
import { addressGuard } from './address-guard.js'
import { guardedFetch, type FetchLimits } from './guarded-fetch.js'
import { outboundHttp, type OutboundOptions } from './outbound-http.js'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

type Setting = FetchLimits &
  Partial<OutboundOptions> & { readonly answers?: Parameters<typeof dnsServer>[0] }

async function fetching({
  answers = {},
  guard = addressGuard({ allowLoopback: true }),
  ...options
}: Setting = {}) {
  const dns = await dnsServer(answers)
  const outbound = outboundHttp({ guard, dnsServers: [dns.address], ...options })
  closing.push(dns.close, outbound.close)
  return { fetch: guardedFetch(outbound, options), outbound }
}

async function receiver(
  answer: Parameters<typeof rawServer>[0] = (socket) => socket.write(http('200 OK', 'ok')),
): Promise<RawServer> {
  const server = await rawServer(answer)
  closing.push(server.close)
  return server
}

const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const CLOSING_HEAD = 'HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n'
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const LAST = '0\r\n\r\n'

/** Writes whenever the other side reads, and counts the bytes. */
function endless(socket: Socket, piece = chunk('y'.repeat(16 * 1024))) {
  const written = { bytes: 0 }
  const more = () => {
    for (let goesOn = true; goesOn && !socket.destroyed; written.bytes += piece.length)
      goesOn = socket.write(piece)
  }
  socket.on('drain', more)
  more()
  return written
}

/** Waits for turns of the event loop, so that both ends of a connection proceed. */
async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve))
}

function bodyOf({ body }: Response): ReadableStream<Uint8Array> {
  if (!body) throw new Error('the response has no body')
  return body
}

const failureOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => 'no failure',
    (error: unknown) => error,
  )

describe('a fetch', () => {
  it('sends its method, headers and body, and asks for no compression', async () => {
    const server = await receiver()
    const { fetch } = await fetching()
    const headers = { 'X-Tenant': 'acme', 'accept-encoding': 'gzip' }
    for (const body of ['Zoë', new TextEncoder().encode('Zoë'), new Blob(['Zoë'])])
      expect((await fetch(`${server.url}?a=1`, { method: 'put', headers, body })).status).toBe(200)
    expect(await (await fetch(new URL(server.url))).text()).toBe('ok')
    expect(
      await (await fetch(new Request(server.url, { method: 'POST', body: 'ok' }))).text(),
    ).toBe('ok')
    const [first = '', second, third, get, post] = server.requests
    expect([first.replace(/content-type.*\r\n/, ''), second, third]).toEqual([
      second,
      second,
      second,
    ])
    expect(first).toMatch(/^PUT \/hook\?a=1 HTTP\/1\.1\r\n/)
    expect(first).toMatch(/x-tenant: acme\r\n/i)
    expect(first).toMatch(/accept-encoding: identity\r\n/i)
    expect(Buffer.from(first, 'latin1').toString()).toMatch(/\r\ncontent-length: 4\r\n\r\nZoë$/)
    expect([get, post]).toMatchObject([
      expect.stringMatching(/^GET [^]*\r\n\r\n$/),
      expect.stringMatching(/^POST [^]*ok$/),
    ])
  })

  it('uses TLS with a trusted authority', async () => {
    const server = await rawTlsServer((socket) => socket.write(http('200 OK', 'safe')))
    closing.push(server.close)
    const { fetch } = await fetching({ ca: certificate })
    expect(await (await fetch(server.url)).text()).toBe('safe')
    const { fetch: trusting } = await fetching()
    expect(await failureOf(trusting(server.url))).toMatchObject({ name: 'TypeError', code: 'tls' })
  })
})

describe('a response', () => {
  it('resolves with its head, and streams its body', async () => {
    let connection: Socket | undefined
    const server = await receiver((socket) =>
      (connection = socket).write(HEAD + chunk('data: one\n\n')),
    )
    const { fetch } = await fetching()
    const response = await fetch(server.url)
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream',
    ])
    const reader = bodyOf(response).getReader()
    const next = async () => Buffer.from((await reader.read()).value ?? []).toString()
    expect(await next()).toBe('data: one\n\n')
    connection?.write(chunk('data: two\n\n'))
    expect(await next()).toBe('data: two\n\n')
    connection?.write(LAST)
    expect(await reader.read()).toEqual({ done: true, value: undefined })
  })

  it('is complete for any chunk size, and frees its connection', async () => {
    const text = 'Zoë 🎈'.repeat(7_000)
    const server = await receiver((socket) => {
      const bytes = Buffer.from(text)
      socket.write(HEAD)
      for (let at = 0; at < bytes.length; at += 7)
        socket.write(chunk(bytes.toString('latin1', at, at + 7)), 'latin1')
      socket.write(LAST)
    })
    expect(Buffer.byteLength(text) % 7).toBe(0)
    const { fetch } = await fetching({ connectionsPerOrigin: 1 })
    for (let i = 0; i < 3; i++) expect(await (await fetch(server.url)).text()).toBe(text)
    expect(server.connections).toBe(1)
  })

  it('arrives in few pieces when it is sent in one-byte chunks', async () => {
    const server = await receiver((socket) => socket.write(HEAD + chunk('y').repeat(20_000) + LAST))
    const { fetch } = await fetching()
    const response = await fetch(server.url)
    const sizes: number[] = []
    for await (const piece of bodyOf(response)) sizes.push(piece.length)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(20_000)
    expect(sizes.length).toBeLessThan(200)
  })

  it('has no body when the server sends none', async () => {
    const server = await receiver((socket, request) =>
      socket.write(
        request.startsWith('HEAD')
          ? 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n'
          : 'HTTP/1.1 204 No Content\r\n\r\n',
      ),
    )
    const { fetch } = await fetching({ connectionsPerOrigin: 1 })
    expect((await fetch(server.url)).body).toBeNull()
    expect(await (await fetch(server.url, { method: 'HEAD' })).text()).toBe('')
    expect(server.connections).toBe(1)
  })

  it('keeps repeated headers and values beyond ASCII', async () => {
    const server = await receiver((socket) =>
      socket.write(http('200 OK', '', 'set-cookie: a=1', 'set-cookie: b=2', 'x-name: Zoë 🎈')),
    )
    const { headers } = await (await fetching()).fetch(server.url)
    expect(headers.getSetCookie()).toEqual(['a=1', 'b=2'])
    expect(Buffer.from(headers.get('x-name') ?? '', 'latin1').toString()).toBe('Zoë 🎈')
  })

  it('is not decompressed', async () => {
    const server = await receiver((socket) =>
      socket.write(http('200 OK', 'not gzip at all', 'content-encoding: gzip')),
    )
    expect(await (await (await fetching()).fetch(server.url)).text()).toBe('not gzip at all')
  })

  it('fails with an unknown status', async () => {
    const server = await receiver((socket) => socket.write(http('999 Denied', 'no')))
    expect(await failureOf((await fetching()).fetch(server.url))).toMatchObject({
      code: 'protocol',
      message: 'the response has the status 999',
    })
  })

  it('fails when it switches protocols', async () => {
    const server = await receiver((socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
    )
    expect(await failureOf((await fetching()).fetch(server.url))).toMatchObject({
      name: 'TypeError',
      code: 'protocol',
    })
    await eventually('the connection ends', () => server.open.size === 0)
  })
})

describe('a forbidden address (row S)', () => {
  it.each([
    'http://10.0.0.1/',
    'http://localhost/',
    'https://192.168.1.1/',
    'ftp://example.com/',
    'https://inside.test/',
    'https://169.254.169.254/',
  ])('%s is rejected with the reason', async (url) => {
    const { fetch } = await fetching({
      guard: addressGuard({}),
      answers: { 'inside.test': ['10.0.0.1'] },
    })
    expect(await failureOf(fetch(url))).toMatchObject({
      name: 'TypeError',
      code: 'address_blocked',
      message: expect.stringMatching(/must|private or reserved/),
    })
  })

  it('a redirect is never followed', async () => {
    const inside = await receiver()
    const server = await receiver((socket) =>
      socket.write(http('302 Found', 'elsewhere', `location: ${inside.url}`)),
    )
    const { fetch } = await fetching()
    for (const redirect of ['follow', 'manual'] as const) {
      const response = await fetch(server.url, { redirect })
      expect([response.status, response.headers.get('location'), await response.text()]).toEqual([
        302,
        inside.url,
        'elsewhere',
      ])
    }
    expect(await failureOf(fetch(server.url, { redirect: 'error' }))).toMatchObject({
      code: 'protocol',
      message: 'the response is a redirect',
    })
    expect(inside.connections).toBe(0)
  })
})

it.each(['302 Found', '999 Denied', '204 No Content'])(
  'the unreadable body of a %s closes its connection',
  async (status) => {
    const server = await receiver((socket) => {
      socket.write(`HTTP/1.1 ${status}\r\ntransfer-encoding: chunked\r\n\r\n`)
      endless(socket)
    })
    const { fetch } = await fetching()
    await failureOf(fetch(server.url, { redirect: 'error' }))
    await eventually('the connection ends', () => server.open.size === 0)
    expect(server.connections).toBe(1)
  },
)

describe('limits', () => {
  it('the deadline ends a request to a silent server', async () => {
    const server = await receiver((socket) => void socket)
    const { fetch } = await fetching({ deadlineMs: 100 })
    expect(await failureOf(fetch(server.url))).toMatchObject({
      code: 'timeout',
      message: 'no complete response within 100 ms',
    })
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it('the deadline ends a slow response', async () => {
    const server = await receiver((socket) => {
      socket.write(HEAD)
      const timer = setInterval(() => socket.write(chunk('y')), 5)
      socket.on('close', () => clearInterval(timer))
    })
    const { fetch } = await fetching({ deadlineMs: 2_500, idleMs: 2_000 })
    const response = await fetch(server.url)
    expect(await failureOf(response.text())).toMatchObject({
      code: 'timeout',
      message: 'no complete response within 2500 ms',
    })
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it('the idle timeout ends a stalled response', async () => {
    const server = await receiver((socket) => socket.write(HEAD + chunk('y')))
    const { fetch } = await fetching({ idleMs: 50 })
    const response = await fetch(server.url)
    expect(await failureOf(response.text())).toMatchObject({
      code: 'timeout',
      message: 'the response stalled for 50 ms',
    })
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it('a body beyond its limit fails and is not read further', async () => {
    const server = await receiver((socket) => {
      socket.write(HEAD)
      endless(socket)
    })
    const { fetch } = await fetching({ maxEventStreamBytes: 1_000_000 })
    const response = await fetch(server.url)
    expect(await failureOf(response.text())).toMatchObject({
      code: 'protocol',
      message: 'the response has more than 1000000 bytes',
    })
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it.each([
    ['200 OK', 'text/event-stream', 'whole'],
    ['200 OK', 'Text/Event-Stream; charset=utf-8', 'whole'],
    ['200 OK', 'text/event-streams', 'too large'],
    ['200 OK', 'application/json', 'too large'],
    ['401 No', 'text/event-stream', 'too large'],
  ])('%s %s is %s', async (status, type, result) => {
    const server = await receiver((socket) =>
      socket.write(http(status, 'y'.repeat(1_001), `content-type: ${type}`)),
    )
    const { fetch } = await fetching({ maxBodyBytes: 1_000, maxEventStreamBytes: 1_001 })
    const text = (await fetch(server.url)).text()
    expect(
      await text.then(
        () => 'whole',
        () => 'too large',
      ),
    ).toBe(result)
  })

  it('a body of exactly the limit is complete', async () => {
    const server = await receiver((socket) => socket.write(http('200 OK', 'y'.repeat(1_000))))
    const { fetch } = await fetching({ maxBodyBytes: 1_000 })
    expect((await (await fetch(server.url)).text()).length).toBe(1_000)
  })

  it.each([HEAD, CLOSING_HEAD])(
    'an unread body makes the server wait, and ends at the idle timeout (%j)',
    async (head) => {
      let written = { bytes: 0 }
      const server = await receiver((socket) => {
        socket.write(head)
        written = endless(socket)
      })
      const { fetch } = await fetching({ idleMs: 200, maxBodyBytes: 1e9, maxEventStreamBytes: 1e9 })
      const response = await fetch(server.url)
      await eventually('the connection ends', () => server.open.size === 0)
      expect(written.bytes).toBeLessThan(32 * 1024 * 1024)
      expect(await failureOf(response.text())).toMatchObject({ code: 'timeout' })
    },
  )

  it('a slow reader gets the whole body, and memory stays bounded', async () => {
    const total = 64 * 1024 * 1024
    let left = total
    const server = await receiver((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n`)
      const more = () => {
        for (let goesOn = true; goesOn && left > 0; left -= 65_536)
          goesOn = socket.write(Buffer.alloc(65_536, 'y'))
      }
      socket.on('drain', more)
      more()
    })
    const { fetch } = await fetching({ maxBodyBytes: total })
    const reader = bodyOf(await fetch(server.url)).getReader()
    let before = total
    let unchanged = 0
    await eventually('the sender has to wait', () => {
      unchanged = before === left ? unchanged + 1 : 0
      before = left
      return unchanged === 20
    })
    expect(total - left).toBeLessThan(32 * 1024 * 1024)
    let bytes = 0
    for (let piece = await reader.read(); !piece.done; piece = await reader.read())
      bytes += piece.value.length
    expect(bytes).toBe(total)
  })
})

describe('a broken exchange', () => {
  it.each([
    ['by a reset', HEAD, (socket: Socket) => socket.resetAndDestroy()],
    ['by an early end', HEAD, (socket: Socket) => socket.end()],
    [
      'by a reset, when the end of the connection ends the body',
      CLOSING_HEAD,
      (socket: Socket) => socket.resetAndDestroy(),
    ],
  ])('%s fails after the received bytes', async (_, head, end) => {
    const server = await receiver((socket) => socket.write(head + chunk('one')))
    const { fetch } = await fetching()
    const reader = bodyOf(await fetch(server.url)).getReader()
    expect((await reader.read()).done).toBe(false)
    for (const socket of server.open) end(socket)
    expect(await failureOf(reader.read())).toMatchObject({ name: 'TypeError', code: 'reset' })
  })

  it.each([HEAD, CLOSING_HEAD])(
    'fails while the server waits for the reader (%j)',
    async (head) => {
      const server = await receiver((socket) => socket.write(head + chunk('y'.repeat(64 * 1024))))
      const { fetch } = await fetching()
      const response = await fetch(server.url)
      await turns(20) // The data has arrived, and the reader has not asked for it.
      for (const socket of server.open) socket.resetAndDestroy()
      await turns(20)
      expect(await failureOf(response.text())).toMatchObject({ name: 'TypeError', code: 'reset' })
    },
  )

  it('is not reported when the end of the connection ends the body', async () => {
    const sizes = [64, 65, 128, 192].map((kib) => kib * 1024)
    const server = await receiver((socket, request) =>
      socket.end(CLOSING_HEAD + 'y'.repeat(Number(/\?(\d+)/.exec(request)?.[1]))),
    )
    const { fetch } = await fetching()
    for (const size of sizes) {
      const response = await fetch(`${server.url}?${size}`)
      await turns(20)
      expect((await response.text()).length).toBe(size)
    }
  })

  it('reports a refused connection', async () => {
    const server = await rawServer((socket) => void socket)
    await server.close()
    expect(await failureOf((await fetching()).fetch(server.url))).toMatchObject({
      name: 'TypeError',
      code: 'connect',
    })
  })

  it('fails when the client closes', async () => {
    const server = await receiver((socket) => socket.write(HEAD + chunk('y')))
    const { fetch, outbound } = await fetching()
    const response = await fetch(server.url)
    await outbound.close()
    expect(await failureOf(response.text())).toMatchObject({
      code: 'interrupted',
      message: 'the service is stopping',
    })
    expect(await failureOf(fetch(server.url))).toMatchObject({ code: 'interrupted' })
  })
})

describe('an aborted fetch', () => {
  it('fails with the signal’s reason before the response, and closes its connection', async () => {
    const server = await receiver((socket) => void socket)
    const { fetch } = await fetching()
    const aborter = new AbortController()
    const failed = failureOf(fetch(server.url, { signal: aborter.signal }))
    await eventually('the request', () => server.requests.length === 1)
    aborter.abort()
    expect(await failed).toBe(aborter.signal.reason)
    await eventually('the connection ends', () => server.open.size === 0)
    expect(await failureOf(fetch(server.url, { signal: aborter.signal }))).toBe(
      aborter.signal.reason,
    )
    expect(server.connections).toBe(1)
  })

  it.each(['url', 'request'])(
    'fails with the signal’s reason during the response, and closes its connection (%s)',
    async (kind) => {
      const server = await receiver((socket) => socket.write(HEAD + chunk('y')))
      const { fetch } = await fetching()
      const aborter = new AbortController()
      const { signal } = aborter
      const response = await (kind === 'url'
        ? fetch(server.url, { signal })
        : fetch(new Request(server.url, { signal })))
      const failed = failureOf(response.text())
      aborter.abort(new Error('enough'))
      expect(await failed).toMatchObject({ message: 'enough' })
      await eventually('the connection ends', () => server.open.size === 0)
    },
  )

  it('closes its connection when its body is cancelled', async () => {
    const server = await receiver((socket) => socket.write(HEAD + chunk('y')))
    const { fetch } = await fetching()
    await bodyOf(await fetch(server.url)).cancel()
    await eventually('the connection ends', () => server.open.size === 0)
    expect(await (await fetching()).fetch((await receiver()).url)).toMatchObject({ status: 200 })
  })
})
