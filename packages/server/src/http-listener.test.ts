import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { openListener, type Listener, type ListenerOptions } from './http-listener.js'
import { OperatorError } from './operator-error.js'

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

/** A promise with its resolve function, to hold a request for as long as a test wants. */
function gate(): { passed: Promise<void>; pass: () => void } {
  let pass = () => {}
  const passed = new Promise<void>((resolve) => (pass = resolve))
  return { passed, pass }
}

describe('the listener', () => {
  it('leaves the global Request and Response alone', async () => {
    const before = [globalThis.Request, globalThis.Response]
    await listen(() => new Response('hello'))
    expect([globalThis.Request, globalThis.Response]).toEqual(before)
  })

  it('tells a handler of its connection, for whoever waits to see that the caller has left', async () => {
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

  it('cuts off a peer that dribbles its headers', async () => {
    const socket = await socketTo(
      await listen(() => new Response(), { headersTimeout: 200 }),
      'GET / HTTP/1.1\r\nHost: x\r\n',
    )
    const dribble = setInterval(() => socket.write('X-A: 1\r\n'), 20)
    expect(await end(socket)).toBe('ended')
    clearInterval(dribble)
  })

  it('cuts off a peer that dribbles its body', async () => {
    const listener = await listen(async (request) => new Response(await request.text()), {
      headersTimeout: 100,
      requestTimeout: 300,
    })
    const socket = await socketTo(
      listener,
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n',
    )
    const dribble = setInterval(() => socket.write('a'), 20)
    expect(await end(socket)).toBe('ended')
    clearInterval(dribble)
  })

  it('cuts off a peer that connects and says nothing', async () => {
    const socket = await socketTo(await listen(() => new Response(), { headersTimeout: 200 }), '')
    expect(await end(socket)).toBe('ended')
  })

  it('cuts off a peer that does not read its answer', async () => {
    const length = 50_000_000
    const listener = await listen(() => new Response('x'.repeat(length)), {
      stalledTimeout: 200,
      headersTimeout: 300,
    })
    const socket = (await socketTo(listener, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).pause()
    await once(socket, 'readable')
    for (let i = 0; i < 2; i++) await end(await socketTo(listener, '')) // the limits have struck by now
    let received = 0
    socket.on('data', (chunk: Buffer) => (received += chunk.length))
    await end(socket)
    expect(received).toBeLessThan(length)
  })

  it('does not limit how long an answer takes', async () => {
    const { passed, pass } = gate()
    const listener = await listen(() => passed.then(() => new Response('late')), {
      headersTimeout: 100,
      requestTimeout: 100,
    })
    const answer = fetch(listener.url)
    const silent = await socketTo(listener, '')
    await end(silent) // the limits have struck by now
    pass()
    expect(await (await answer).text()).toBe('late')
  })

  it.each(['GET / HTTP/1.1\r\nHost: a b\r\n\r\n', 'GET /a\\b HTTP/1.1\r\nHost: x\r\n\r\n'])(
    'answers 400 in the words of the API to %j',
    async (text) => {
      const socket = await socketTo(await listen(() => new Response()), text)
      const [answer] = (await once(socket, 'data')) as [Buffer]
      expect(answer.toString()).toMatch(
        /^HTTP\/1.1 400 [^]*x-request-id: (\S+)[^]*"code":"BAD_REQUEST"[^]*"requestId":"\1"/,
      )
    },
  )

  it('makes up a host for a request of HTTP/1.0 that names none, and not of where it listens: an IPv6 address would not do', async () => {
    const listener = await listen((request) => new Response(request.url))
    const [answer] = (await once(
      await socketTo(listener, 'GET /healthz HTTP/1.0\r\n\r\n'),
      'data',
    )) as [Buffer]
    expect(answer.toString()).toMatch(/\r\n\r\nhttp:\/\/localhost\/healthz$/)
  })

  it('refuses too large a head with 431', async () => {
    const listener = await listen(() => new Response())
    expect((await fetch(listener.url, { headers: { 'x-big': 'a'.repeat(17_000) } })).status).toBe(
      431,
    )
  })

  it('reads what is left of a body that was refused in the middle, and then the next request', async () => {
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

  it('tells in a line that the port is in use', async () => {
    const { url } = await listen(() => new Response())
    const port = Number(new URL(url).port)
    const second = openListener({ host: '127.0.0.1', port, fetch: () => new Response() })
    await expect(second).rejects.toEqual(
      new OperatorError(
        `port ${port} on 127.0.0.1 is in use; set PORT to another (0: any free one)`,
      ),
    )
  })

  it('tells in a line that the host is not of this machine', async () => {
    const wrong = openListener({ host: '192.0.2.1', port: 0, fetch: () => new Response() })
    await expect(wrong).rejects.toThrow('HOST is 192.0.2.1, which is no address of this machine')
  })
})

describe('closing the listener', () => {
  it('lets a request under way have its answer, on a connection that then ends', async () => {
    const { passed, pass } = gate()
    const begun = gate()
    const listener = await listen(() => {
      begun.pass()
      return passed.then(() => new Response('done'))
    })
    const answer = fetch(listener.url)
    await begun.passed
    const closed = listener.close(10_000)
    pass()
    const answered = await answer
    expect(answered.headers.get('connection')).toBe('close')
    expect(await answered.text()).toBe('done')
    await closed
  })

  it('answers who was on the way, on a connection that then ends', async () => {
    const { passed, pass } = gate()
    const begun = gate()
    const listener = await listen(({ url }) => {
      if (!url.endsWith('/held')) return new Response('done')
      begun.pass()
      return passed.then(() => new Response('done'))
    })
    const [held, late] = [
      fetch(`${listener.url}/held`),
      await socketTo(listener, 'GET / HTTP/1.1\r\n'),
    ]
    await begun.passed
    const closed = listener.close(10_000)
    late.write('Host: x\r\n\r\n')
    const [answer] = (await once(late, 'data')) as [Buffer]
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n[^]*Connection: close/i)
    pass()
    await Promise.all([held, closed])
  })

  it('cuts off what is still under way at the end of the grace', async () => {
    const begun = gate()
    const listener = await listen(() => {
      begun.pass()
      return new Promise<Response>(() => {})
    })
    const answer = fetch(listener.url).catch((error: unknown) => error)
    await begun.passed
    await listener.close(50)
    expect(await answer).toBeInstanceOf(Error)
  })

  it('does not wait for connections that were opened and left', async () => {
    const listener = await listen(() => new Response())
    const sockets = await Promise.all(
      Array.from({ length: 100 }, (_, i) => socketTo(listener, i % 2 ? 'GET / HT' : '')),
    )
    await listener.close(3_600_000)
    expect(new Set(await Promise.all(sockets.map(end)))).toEqual(new Set(['ended']))
  })

  it('does not wait for kept-alive connections', async () => {
    const listener = await listen(() => new Response('ok'))
    const socket = await socketTo(listener, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    await once(socket, 'data')
    await listener.close(3_600_000)
    expect(await end(socket)).toBe('ended')
  })
})
