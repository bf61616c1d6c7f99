import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import {
  customHeadersProblem,
  newSecret,
  signatureHeaders,
  type CustomHeaders,
} from '@org/agent-messaging-core/runtime'
import { nodePlatform } from '@org/agent-messaging-core/node'
import { verify } from '@octokit/webhooks-methods'
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually } from '../../test/eventually.js'
import { http, rawServer, type RawServer } from '../../test/raw-server.js'
import { addressGuard } from '../address-guard.js'
import { outboundHttp } from '../outbound-http.js'
import { httpWebhookSender } from './webhook-sender.js'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const NOW = Date.UTC(2030, 0, 1)

function newSender() {
  const sender = outboundHttp({ guard: addressGuard({ allowLoopback: true }) })
  closing.push(sender.close)
  return httpWebhookSender(sender, { now: () => NOW })
}

async function receiver(answer: (socket: Socket, request: string) => void): Promise<RawServer> {
  const server = await rawServer(answer)
  closing.push(server.close)
  return server
}

type Sent = { headers?: Record<string, string>; body?: string; deadlineMs?: number }
const deliver = (url: string, { headers = {}, body = '{}', deadlineMs = 60_000 }: Sent = {}) =>
  newSender().send({ url, headers, body, deadlineMs })

/** The outcome for a receiver that sends exactly this text. */
async function outcomeOf(answer: string) {
  const server = await receiver((socket) => socket.write(answer))
  return deliver(server.url)
}

describe('a webhook request', () => {
  it('is one POST with exactly the given body and headers', async () => {
    const server = await receiver((socket) => socket.write(http('204 No Content')))
    const body = '{"text":"Zoë ≠ 🎈 \\u0000","a" : 1}'
    await deliver(`${server.url}?x=%20y`, {
      body,
      headers: { 'content-type': 'application/json', 'X-Service-Event': 'message.responded' },
    })
    const [head = '', sent = ''] = server.requests[0]?.split('\r\n\r\n') ?? []
    expect(Buffer.from(sent, 'latin1').toString('utf8')).toBe(body)
    expect(head.split('\r\n')).toEqual([
      'POST /hook?x=%20y HTTP/1.1',
      `host: 127.0.0.1:${server.port}`,
      'connection: keep-alive',
      'user-agent: agent-messaging',
      'content-type: application/json',
      'X-Service-Event: message.responded',
      `content-length: ${Buffer.byteLength(body)}`,
    ])
    expect(server.requests.length).toBe(1)
  })

  it('carries every header that a customer can choose', async () => {
    const server = await receiver((socket) => socket.write(http('200 OK')))
    const names = [..."!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"].map(
      (c) => `${c}-${c.toLowerCase()}`,
    )
    const latin1 = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)).filter((c) =>
      /[\t\x20-\x7e\x80-\xff]/.test(c),
    )
    const chosen = [
      ...names.map((name) => [name, 'x']),
      ['X-All', `a${latin1.join('')}b`],
      ['X-Empty', ''],
      ['__proto__', 'p'],
    ]
    const rules = { maxHeaders: 100, maxValueLength: 4_096, headerPrefix: 'X-Service' }
    expect(customHeadersProblem(Object.fromEntries(chosen) as CustomHeaders, rules)).toBeUndefined()
    expect(
      await deliver(server.url, { headers: Object.fromEntries(chosen) as CustomHeaders }),
    ).toMatchObject({ kind: 'accepted' })
    for (const [name, value] of chosen)
      expect(server.requests[0]).toContain(`\r\n${name}: ${value}\r\n`)
  })

  it('verifies with @octokit/webhooks-methods and standardwebhooks', async () => {
    const server = await receiver((socket) => socket.write(http('200 OK')))
    const { crypto } = nodePlatform({ masterKey: new Uint8Array(32) })
    const secret = newSecret(crypto.randomBytes)
    const body = '{"event":"message.responded","data":{"response":"Zoë 🎈"}}'
    const signed = {
      id: 'delivery-1',
      event: 'message.responded',
      body,
      secret,
      at: Date.now(),
      headerPrefix: 'X-Service',
    }
    await deliver(server.url, { body, headers: signatureHeaders(crypto.hmacSha256, signed) })
    const [head = '', raw = ''] = server.requests[0]?.split('\r\n\r\n') ?? []
    const arrived = Buffer.from(raw, 'latin1').toString('utf8')
    const headers = Object.fromEntries(
      head
        .split('\r\n')
        .slice(1)
        .map((line) =>
          line.toLowerCase().startsWith('webhook-') || line.startsWith('X-')
            ? line.split(': ')
            : [],
        )
        .filter((pair) => pair.length === 2),
    ) as Record<string, string>
    expect(await verify(secret, arrived, headers['X-Service-Signature'] ?? '')).toBe(true)
    expect(await verify(secret, `${arrived} `, headers['X-Service-Signature'] ?? '')).toBe(false)
    expect(new Webhook(secret).verify(arrived, headers)).toEqual(JSON.parse(body))
    expect(headers['X-Service-Signature']).toBe(
      `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    )
  })

  it.each([
    ['a name with a space', { 'X Service-Event': 'x' }],
    ['a name with a line break', { 'X\r\nY': 'x' }],
    ['an empty name', { '': 'x' }],
    ['a value with a line break', { 'X-Event': 'a\r\nevil: b' }],
    ['a value with NUL', { 'X-Event': 'a\0b' }],
    ['a value beyond Latin-1', { 'X-Event': '→' }],
    ['a hop-by-hop header', { 'transfer-encoding': 'chunked' }],
    ['a wrong content-length', { 'content-length': '1' }],
    ['expect', { expect: '100-continue' }],
  ])('with %s fails without being sent', async (_what, headers: Record<string, string>) => {
    const server = await receiver((socket) => socket.write(http('200 OK')))
    expect(await deliver(server.url, { headers })).toMatchObject({
      kind: 'unreachable',
      error: 'protocol',
    })
    expect(server.requests).toEqual([])
    expect(await deliver(server.url)).toMatchObject({ kind: 'accepted' })
  })
})

describe('a response (row R)', () => {
  it.each(['200 OK', '201 Created', '202 Accepted', '204 No Content', '299 Whatever'])(
    'of %s is accepted',
    async (status) => {
      expect(await outcomeOf(http(status))).toEqual({
        kind: 'accepted',
        statusCode: Number(status.slice(0, 3)),
        responseBody: '',
      })
    },
  )

  it.each([
    '300 Multiple Choices',
    '301 Moved',
    '304 Not Modified',
    '400 Bad Request',
    '401 No',
    '404 Not Found',
    '410 Gone',
    '500 Oops',
    '599 What',
  ])('of %s is refused', async (status) => {
    const body = status.startsWith('304') ? '' : 'reason'
    expect(await outcomeOf(http(status, body))).toEqual({
      kind: 'refused',
      statusCode: Number(status.slice(0, 3)),
      responseBody: body,
    })
  })

  it.each([301, 302, 303, 307, 308])(
    'of %d is refused, and its location is not followed',
    async (statusCode) => {
      const elsewhere = await receiver((socket) => socket.write(http('200 OK')))
      expect(
        await outcomeOf(http(`${statusCode} Moved`, '', `location: ${elsewhere.url}`)),
      ).toMatchObject({ kind: 'refused', statusCode })
      expect(elsewhere.connections).toBe(0)
    },
  )

  it.each([429, 503, 301])(
    'of %d with Retry-After delays the retry, in each format',
    async (status) => {
      const retryAfter = async (value: string) =>
        outcomeOf(http(`${status} Later`, '', `retry-after: ${value}`))
      expect(await retryAfter('7')).toMatchObject({ kind: 'refused', retryAfterMs: 7_000 })
      expect(await retryAfter('Tue, 01 Jan 2030 00:01:00 GMT')).toMatchObject({
        retryAfterMs: 60_000,
      })
      expect(await retryAfter('Tuesday, 01-Jan-30 00:01:00 GMT')).toMatchObject({
        retryAfterMs: 60_000,
      })
      expect(await retryAfter('Tue Jan  1 00:01:00 2030')).toMatchObject({ retryAfterMs: 60_000 })
      expect(await retryAfter('Mon, 31 Dec 2029 00:00:00 GMT')).toMatchObject({ retryAfterMs: 0 })
      expect(await retryAfter('60 ')).toMatchObject({ retryAfterMs: 60_000 })
      expect(await retryAfter('\t60 \t')).toMatchObject({ retryAfterMs: 60_000 })
      expect(await retryAfter('9'.repeat(100))).toMatchObject({
        retryAfterMs: 366 * 24 * 3_600_000,
      })
      expect(await retryAfter('soon')).not.toHaveProperty('retryAfterMs')
      expect(await retryAfter('1\r\nretry-after: 2')).not.toHaveProperty('retryAfterMs')
    },
  )

  it('keeps its body as text that every store accepts', async () => {
    const body = Buffer.concat([Buffer.from('Zoë 🎈 a\0b '), Buffer.from([0xff, 0xed, 0xa0, 0x80])])
    const server = await receiver((socket) => {
      socket.write(`HTTP/1.1 500 Oops\r\ncontent-length: ${body.length}\r\n\r\n`)
      socket.write(body)
    })
    expect(await deliver(server.url)).toMatchObject({
      responseBody: 'Zoë 🎈 a\uFFFDb \uFFFD\uFFFD\uFFFD\uFFFD',
    })
  })

  it('keeps 16 KiB of its body, and its connection if the body is not longer', async () => {
    const server = await receiver((socket) => socket.write(http('200 OK', 'x'.repeat(16 * 1024))))
    const sender = newSender()
    for (let i = 0; i < 2; i++) {
      expect(
        await sender.send({ url: server.url, headers: {}, body: '', deadlineMs: 60_000 }),
      ).toEqual({
        kind: 'accepted',
        statusCode: 200,
        responseBody: 'x'.repeat(16 * 1024),
      })
    }
    expect(server.connections).toBe(1)
  })

  it('with an endless body is cut and not read further', async () => {
    let sent = 0
    const server = await receiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n')
      const more = () => {
        while (!socket.destroyed && socket.write(`400\r\n${'y'.repeat(1_024)}\r\n`)) sent += 1_024
      }
      socket.on('drain', more)
      more()
    })
    expect(await deliver(server.url)).toEqual({
      kind: 'accepted',
      statusCode: 200,
      responseBody: 'y'.repeat(16 * 1024),
    })
    await eventually('the connection ends', () => server.open.size === 0)
    expect(sent).toBeLessThan(64 * 1024 * 1024)
    expect(server.connections).toBe(1)
  })

  it('with a gzip bomb is not decompressed', async () => {
    const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024))
    const server = await receiver((socket) => {
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`,
      )
      socket.write(bomb)
    })
    const outcome = await deliver(server.url)
    expect(outcome).toMatchObject({
      kind: 'accepted',
      responseBody: bomb
        .subarray(0, 16 * 1024)
        .toString('utf8')
        .replaceAll('\0', '\uFFFD'),
    })
    expect(server.requests[0]).not.toMatch(/accept-encoding/i)
  })

  it('counts after interim responses', async () => {
    const early = 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'
    expect(await outcomeOf(early.repeat(3) + http('200 OK', 'ok'))).toMatchObject({
      kind: 'accepted',
      responseBody: 'ok',
    })
  })

  const proceed = 'HTTP/1.1 100 Continue\r\nx-proxy: 1\r\n\r\n'
  it.each([
    ['one', proceed],
    ['several', proceed.repeat(3)],
    ['one after another interim response', `HTTP/1.1 103 Early Hints\r\n\r\n${proceed}`],
    ['one of HTTP/1.0', 'HTTP/1.0 100 Continue\r\n\r\n'],
  ])('counts after a 100 Continue that the request did not ask for: %s', async (_what, early) => {
    const server = await receiver((socket) => socket.write(early + http('201 Created', 'made')))
    const sender = newSender()
    for (let i = 0; i < 2; i++)
      expect(
        await sender.send({ url: server.url, headers: {}, body: '', deadlineMs: 60_000 }),
      ).toEqual({ kind: 'accepted', statusCode: 201, responseBody: 'made' })
    expect(server.connections).toBe(1)
  })

  it('counts after a 100 Continue that arrives byte by byte', async () => {
    const server = await receiver((socket) => {
      const bytes = [...(proceed + http('200 OK', 'HTTP/1.1 100 '))]
      const next = () => {
        const byte = bytes.shift()
        if (byte !== undefined) socket.write(byte, () => setImmediate(next))
      }
      socket.setNoDelay(true)
      next()
    })
    expect(await deliver(server.url)).toMatchObject({ responseBody: 'HTTP/1.1 100 ' })
  })

  it.each([
    ['204 No Content', 'accepted', 'content-length: 2'],
    ['204 No Content', 'accepted', 'transfer-encoding: chunked'],
    ['304 Not Modified', 'refused', 'content-length: 5000'],
    ['304 Not Modified', 'refused', 'content-length: 5\r\nconnection: close'],
  ])(
    'of %s is %s and ends with its head, also with the header %s',
    async (status, kind, header) => {
      expect(await outcomeOf(`HTTP/1.1 ${status}\r\n${header}\r\n\r\n`)).toEqual({
        kind,
        statusCode: Number(status.slice(0, 3)),
        responseBody: '',
      })
    },
  )

  it('of 204 keeps its connection only if no body can follow', async () => {
    const server = await receiver((socket, request) =>
      socket.write(
        request.endsWith('odd')
          ? 'HTTP/1.1 204 No Content\r\ncontent-length: 8\r\n\r\nHTTP/1.1'
          : 'HTTP/1.1 204 No Content\r\n\r\n',
      ),
    )
    const sender = newSender()
    for (const body of ['even', 'odd', 'even', 'even'])
      expect(
        await sender.send({ url: server.url, headers: {}, body, deadlineMs: 60_000 }),
      ).toMatchObject({ kind: 'accepted', statusCode: 204 })
    expect(server.connections).toBe(2)
  })
})

describe('a request without a valid response (row R)', () => {
  const timeout = {
    kind: 'unreachable',
    error: 'timeout',
    detail: 'no complete response within 150 ms',
  }
  const reset = {
    kind: 'unreachable',
    error: 'reset',
    detail: 'the connection ended before the response was complete',
  }
  const invalid = { kind: 'unreachable', error: 'protocol' }

  it('ends at the deadline for a silent receiver', async () => {
    const server = await receiver((socket) => void socket)
    expect(await deliver(server.url, { deadlineMs: 150 })).toEqual(timeout)
    await eventually('the connection ends', () => server.open.size === 0)
    expect(server.connections).toBe(1)
  })

  it.each([
    ['its head', 'HTTP/1.1 200 OK\r\nx-a: ', 'a'],
    ['its body', 'HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n', 'a'],
    [
      'the chunks of its body',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n',
      '1\r\na\r\n',
    ],
    ['interim responses', '', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ])('ends at the deadline for a receiver that trickles %s', async (_what, begin, drop) => {
    const server = await receiver((socket) => {
      socket.write(begin)
      const trickle = setInterval(() => socket.write(drop), 10)
      socket.on('close', () => clearInterval(trickle))
    })
    expect(await deliver(server.url, { deadlineMs: 150 })).toEqual(timeout)
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it.each([
    ['before its head', ''],
    ['within its head', 'HTTP/1.1 200 OK\r\ncontent-le'],
    ['before its body', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n'],
    ['within its body', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'],
    [
      'within its last body',
      'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 10\r\n\r\nhalf',
    ],
    ['within its chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhal'],
    [
      'within its last chunks',
      'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhal',
    ],
    ['after an interim response', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
  ])(
    'fails as reset when the receiver resets or closes the connection %s',
    async (_when, begin) => {
      const breaking = await receiver((socket) =>
        socket.write(begin, () => socket.resetAndDestroy()),
      )
      expect(await deliver(breaking.url)).toEqual(reset)
      const ending = await receiver((socket) => socket.end(begin))
      expect(await deliver(ending.url)).toEqual(reset)
      expect([breaking.connections, ending.connections]).toEqual([1, 1])
    },
  )

  it('fails for an endless head', async () => {
    const server = await receiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n')
      const more = () => {
        while (!socket.destroyed && socket.write(`x-filler: ${'z'.repeat(1_000)}\r\n`));
      }
      socket.on('drain', more)
      more()
    })
    expect(await deliver(server.url)).toEqual({
      ...invalid,
      detail: 'the headers of the response are too large',
    })
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it('fails for a flood of interim responses', async () => {
    const server = await receiver((socket) => {
      const more = () => {
        while (!socket.destroyed && socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10)));
      }
      socket.on('drain', more)
      more()
    })
    expect(await deliver(server.url)).toEqual({ ...invalid, detail: 'too many interim responses' })
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it.each([
    [
      'with the headers for it',
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    ],
    ['without them', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'],
  ])('fails for a switch of protocols %s', async (_how, answer) => {
    const server = await receiver((socket) => socket.write(answer))
    expect(await deliver(server.url)).toEqual({
      ...invalid,
      detail: 'the response switches to another protocol',
    })
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it.each([
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['HTTP/0.9', '<html>hello</html>'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['binary', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['a status that is not a number', 'HTTP/1.1 OK\r\n\r\n'],
    ['a length that is not a number', 'HTTP/1.1 200 OK\r\ncontent-length: ten\r\n\r\n0123456789'],
    [
      'a chunk size that is not a number',
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n',
    ],
    ['a header with NUL', 'HTTP/1.1 200 OK\r\nx-a: a\0b\r\ncontent-length: 0\r\n\r\n'],
  ])('fails for %s', async (_what, answer) => {
    const server = await receiver((socket) => socket.write(answer, 'latin1'))
    expect(await deliver(server.url)).toMatchObject(invalid)
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it('ends at the deadline for a receiver that sends only a 100 Continue', async () => {
    const server = await receiver((socket) => socket.write('HTTP/1.1 100 Continue\r\n\r\n'))
    expect(await deliver(server.url, { deadlineMs: 150 })).toEqual(timeout)
  })

  it.each(['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 100 Continue\r\nx-a: '])(
    'fails for a flood that begins with %j',
    async (begin) => {
      const server = await receiver((socket) => {
        const more = () => {
          while (!socket.destroyed && socket.write(begin.repeat(100)));
        }
        socket.on('drain', more)
        more()
      })
      expect(await deliver(server.url)).toMatchObject(invalid)
      await eventually('the connection ends', () => server.open.size === 0)
    },
  )

  it.each(['', 'content-length: 0\r\n', 'connection: close\r\n'])(
    'fails for a status below 100 with %j',
    async (header) => {
      expect(await outcomeOf(`HTTP/1.1 099 What\r\n${header}\r\n`)).toEqual({
        ...invalid,
        detail: 'the status of the response is below 100',
      })
    },
  )

  it.each([
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
    ['one length twice', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nab'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
    ],
  ])('fails for an ambiguous response with %s', async (_what, answer) => {
    expect(await outcomeOf(answer)).toEqual({
      ...invalid,
      detail: 'the head of the response has two lengths or a malformed header',
    })
  })

  it('fails as connect for a closed port', async () => {
    const server = await rawServer((socket) => void socket)
    await server.close()
    expect(await deliver(server.url)).toEqual({
      kind: 'unreachable',
      error: 'connect',
      detail: 'no connection (ECONNREFUSED)',
    })
  })

  it('ignores a response after the deadline', async () => {
    const sockets: Socket[] = []
    const server = await receiver((socket) => sockets.push(socket))
    const sender = newSender()
    const send = (deadlineMs: number) =>
      sender.send({ url: server.url, headers: {}, body: '', deadlineMs })
    expect(await send(150)).toEqual(timeout)
    sockets[0]?.write(http('200 OK', 'late'))
    const second = send(5_000)
    await eventually('the second request', () => sockets.length === 2)
    sockets[1]?.write(http('500 Oops', 'second'))
    expect(await second).toMatchObject({ kind: 'refused', responseBody: 'second' })
  })

  it('ignores a second response on its connection', async () => {
    const server = await receiver((socket, request) =>
      socket.write(
        request.endsWith('first')
          ? http('200 OK', 'one') + http('200 OK', 'smuggled')
          : http('200 OK', 'two'),
      ),
    )
    const sender = newSender()
    const send = (body: string) =>
      sender.send({ url: server.url, headers: {}, body, deadlineMs: 60_000 })
    expect(await send('first')).toMatchObject({ responseBody: 'one' })
    const [socket] = server.open
    if (socket) await once(socket, 'close')
    expect(await send('second')).toMatchObject({ responseBody: 'two' })
  })
})
