import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { openListener, type Listener, type ListenerOptions } from './http-listener.js'
import { OperatorError } from '../operator-error.js'

const open: Listener[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((listener) => listener.close(0)))
})

async function listen(
  fetch: ListenerOptions['fetch'],
  limits: ListenerOptions['limits'] = {},
): Promise<Listener> {
  const listener = await openListener({
    host: '127.0.0.1',
    port: 0,
    fetch,
    limits: { ...limits, connectionsCheckingInterval: 50 },
  })
  open.push(listener)
  return listener
}

async function socketTo({ url }: Listener, text: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined)
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

const end = (socket: Socket): Promise<'ended'> =>
  new Promise((resolve) => {
    if (socket.resume().closed) resolve('ended')
    else socket.once('close', () => resolve('ended'))
  })

/** A promise with its resolve function, with which a test holds a request. */
function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => (resolve = done))
  return { promise, resolve }
}

/** Connects from another thread, because these tests block this one. */
const CLIENTS = `
  const { connect } = require('node:net')
  const { workerData: { port, count, keepAlive, shared } } = require('node:worker_threads')
  const REQUEST = 'GET / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'
  const [CONNECTED, ANSWERED, LOST, REPEATED] = [0, 1, 2, 3]
  function count1(at) { Atomics.add(shared, at, 1); Atomics.notify(shared, at) }
  function client(repeats) {
    let answered = false
    const socket = connect(port, '127.0.0.1', () => {
      socket.write(REQUEST, () => { if (!repeats) count1(CONNECTED) })
    })
    socket.on('data', () => {
      if (repeats) { count1(REPEATED); socket.write(REQUEST) }
      else if (!answered) { answered = true; count1(ANSWERED); socket.destroy() }
    })
    socket.on('error', () => undefined)
    socket.on('close', () => { if (!repeats && !answered) count1(LOST) })
  }
  for (let n = 0; n < keepAlive; n++) client(true)
  require('node:worker_threads').parentPort.on('message', () => {
    for (let n = 0; n < count; n++) client(false)
  })`

type Counts = {
  readonly connected: number
  readonly answered: number
  readonly lost: number
  readonly repeated: number
}

/** `keepAlive` clients send without end. `connect` opens `count` more, each for one request. */
function clientsOf(
  { url }: Listener,
  { count, keepAlive = 0 }: { count: number; keepAlive?: number },
) {
  const shared = new Int32Array(new SharedArrayBuffer(16))
  const port = Number(new URL(url).port)
  const worker = new Worker(CLIENTS, { eval: true, workerData: { port, count, keepAlive, shared } })
  onTestFinished(async () => void (await worker.terminate()))
  const counts = (): Counts => {
    const [connected = 0, answered = 0, lost = 0, repeated = 0] = shared
    return { connected, answered, lost, repeated }
  }
  return {
    counts,
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    connect: () => worker.postMessage('connect'),
    /** Blocks this thread until all have connected and sent their request. */
    blockUntilConnected: () => {
      for (let seen = 0; seen < count; seen = Atomics.load(shared, 0)) Atomics.wait(shared, 0, seen)
    },
    until: async (condition: (counts: Counts) => boolean) => {
      while (!condition(counts())) await new Promise((resolve) => setTimeout(resolve, 5))
    },
  }
}

function block(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}

describe('waiting connections', () => {
  it('are accepted before the requests of others', async () => {
    const listener = await listen(() => {
      block(1)
      return new Response('hello')
    })
    const clients = clientsOf(listener, { count: 100, keepAlive: 32 })
    await clients.until(({ repeated }) => repeated > 100)
    clients.connect()
    await clients.until(({ connected }) => connected > 0)
    const before = clients.counts().repeated
    await clients.until(({ answered }) => answered === 100)
    // With one of them per 32 other requests, there would be 3,200.
    expect(clients.counts().repeated - before).toBeLessThan(1_500)
  })

  it('are answered when the listener closes, and none is reset', async () => {
    const listener = await listen(() => new Response('hello'))
    const clients = clientsOf(listener, { count: 200 })
    clients.connect()
    clients.blockUntilConnected()
    await listener.close(60_000)
    await clients.until(({ answered, lost }) => answered + lost === 200)
    expect(clients.counts()).toMatchObject({ answered: 200, lost: 0 })
  })

  it('do not keep the listener open if they send nothing', async () => {
    const listener = await listen(() => new Response('hello'))
    const silent = await socketTo(listener, '')
    await listener.close(60_000)
    expect(await end(silent)).toBe('ended')
  })
})

describe('the listener', () => {
  it('keeps the global Request and Response by default', async () => {
    const before = [globalThis.Request, globalThis.Response]
    await listen(() => new Response('hello'))
    expect([globalThis.Request, globalThis.Response]).toEqual(before)
  })

  it('passes the connection to the handler', async () => {
    const listener = await listen(
      (_, { incoming }) => new Response(String(incoming.socket.remotePort)),
    )
    const socket = await socketTo(
      listener,
      'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    )
    const [answer] = (await once(socket, 'data')) as [Buffer]
    expect(answer.toString()).toContain(`\r\n\r\n${socket.localPort}`)
  })

  it('disconnects a peer that sends its headers slowly', async () => {
    const socket = await socketTo(
      await listen(() => new Response(), { headersTimeout: 200 }),
      'GET / HTTP/1.1\r\nHost: x\r\n',
    )
    const slowWrites = setInterval(() => socket.write('X-A: 1\r\n'), 20)
    expect(await end(socket)).toBe('ended')
    clearInterval(slowWrites)
  })

  it('disconnects a peer that sends its body slowly', async () => {
    const listener = await listen(async (request) => new Response(await request.text()), {
      headersTimeout: 100,
      requestTimeout: 300,
    })
    const socket = await socketTo(
      listener,
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n',
    )
    const slowWrites = setInterval(() => socket.write('a'), 20)
    expect(await end(socket)).toBe('ended')
    clearInterval(slowWrites)
  })

  it('disconnects a peer that sends nothing', async () => {
    const socket = await socketTo(await listen(() => new Response(), { headersTimeout: 200 }), '')
    expect(await end(socket)).toBe('ended')
  })

  it('disconnects a peer that does not read its response', async () => {
    const length = 50_000_000
    const listener = await listen(() => new Response('x'.repeat(length)), {
      stalledTimeout: 200,
      headersTimeout: 300,
    })
    const socket = (await socketTo(listener, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).pause()
    await once(socket, 'readable')
    // By the end of these connections, the limits have passed.
    for (let i = 0; i < 2; i++) await end(await socketTo(listener, ''))
    let received = 0
    socket.on('data', (chunk: Buffer) => (received += chunk.length))
    await end(socket)
    expect(received).toBeLessThan(length)
  })

  it('does not limit how long a handler takes', async () => {
    const { promise, resolve } = deferred()
    const listener = await listen(() => promise.then(() => new Response('late')), {
      headersTimeout: 1_000,
      requestTimeout: 1_000,
    })
    const answer = fetch(listener.url)
    const silent = await socketTo(listener, '')
    await end(silent) // by now the limits have passed
    resolve()
    expect(await (await answer).text()).toBe('late')
  })

  it.each(['GET / HTTP/1.1\r\nHost: a b\r\n\r\n', 'GET /a\\b HTTP/1.1\r\nHost: x\r\n\r\n'])(
    'answers %j with a 400 error of the API',
    async (text) => {
      const socket = await socketTo(await listen(() => new Response()), text)
      const [answer] = (await once(socket, 'data')) as [Buffer]
      expect(answer.toString()).toMatch(
        /^HTTP\/1.1 400 [^]*x-request-id: (\S+)[^]*"code":"BAD_REQUEST"[^]*"requestId":"\1"/,
      )
    },
  )

  it('uses localhost as the host of an HTTP/1.0 request without one', async () => {
    const listener = await listen((request) => new Response(request.url))
    const [answer] = (await once(
      await socketTo(listener, 'GET /healthz HTTP/1.0\r\n\r\n'),
      'data',
    )) as [Buffer]
    expect(answer.toString()).toMatch(/\r\n\r\nhttp:\/\/localhost\/healthz$/)
  })

  it('rejects headers that are too large with 431', async () => {
    const listener = await listen(() => new Response())
    expect((await fetch(listener.url, { headers: { 'x-big': 'a'.repeat(17_000) } })).status).toBe(
      431,
    )
  })

  it('reads the rest of a rejected body and then the next request', async () => {
    const listener = await listen(async (request) => {
      const reader = request.body?.getReader()
      await reader?.read()
      await reader?.cancel()
      return new Response(null, { status: request.method === 'POST' ? 413 : 200 })
    })
    const body = 'x'.repeat(1_000_000)
    const refused = `POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const socket = await socketTo(
      listener,
      `${refused}GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
    )
    let answers = ''
    for await (const chunk of socket) answers += String(chunk)
    expect(answers.match(/^HTTP\/1.1 \d+/gm)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200'])
  })

  it('rejects with a one-line message when the port is in use', async () => {
    const { url } = await listen(() => new Response())
    const port = Number(new URL(url).port)
    const second = openListener({ host: '127.0.0.1', port, fetch: () => new Response() })
    await expect(second).rejects.toEqual(
      new OperatorError(
        `port ${port} on 127.0.0.1 is in use; choose another with PORT (0 picks a free port)`,
      ),
    )
  })

  it('rejects with a one-line message when the host is not an address of this machine', async () => {
    const wrong = openListener({ host: '192.0.2.1', port: 0, fetch: () => new Response() })
    await expect(wrong).rejects.toThrow('HOST must be an address of this machine; got 192.0.2.1')
  })
})

describe('closing the listener', () => {
  it('answers a current request and then closes its connection', async () => {
    const { promise, resolve } = deferred()
    const begun = deferred()
    const listener = await listen(() => {
      begun.resolve()
      return promise.then(() => new Response('done'))
    })
    const answer = fetch(listener.url)
    await begun.promise
    const closed = listener.close(10_000)
    resolve()
    const answered = await answer
    expect(answered.headers.get('connection')).toBe('close')
    expect(await answered.text()).toBe('done')
    await closed
  })

  it('answers a request that was still arriving and then closes its connection', async () => {
    const { promise, resolve } = deferred()
    const begun = deferred()
    const listener = await listen(({ url }) => {
      if (!url.endsWith('/held')) return new Response('done')
      begun.resolve()
      return promise.then(() => new Response('done'))
    })
    const [held, late] = [
      fetch(`${listener.url}/held`),
      await socketTo(listener, 'GET / HTTP/1.1\r\n'),
    ]
    await begun.promise
    const closed = listener.close(10_000)
    late.write('Host: x\r\n\r\n')
    const [answer] = (await once(late, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close/i)
    resolve()
    await Promise.all([held, closed])
  })

  it('disconnects current requests at the end of the grace period', async () => {
    const begun = deferred()
    const listener = await listen(() => {
      begun.resolve()
      return new Promise<Response>(() => {})
    })
    const answer = fetch(listener.url).catch((error: unknown) => error)
    await begun.promise
    await listener.close(50)
    expect(await answer).toBeInstanceOf(Error)
  })

  it('does not wait for connections without a complete request', async () => {
    const listener = await listen(() => new Response())
    const sockets = await Promise.all(
      Array.from({ length: 100 }, (_, i) => socketTo(listener, i % 2 ? 'GET / HT' : '')),
    )
    await listener.close(3_600_000)
    expect(new Set(await Promise.all(sockets.map(end)))).toEqual(new Set(['ended']))
  })

  it('does not wait for idle connections', async () => {
    const listener = await listen(() => new Response('ok'))
    const socket = await socketTo(listener, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
    await listener.close(3_600_000)
    expect(await end(socket)).toBe('ended')
  })
})
