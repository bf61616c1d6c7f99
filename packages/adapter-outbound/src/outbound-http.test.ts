import { unwrapError } from '@org/agent-messaging-testing'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { dnsServer } from '../test/dns-server.js'
import { eventually } from '../test/eventually.js'
import { http, rawServer, type RawServer } from '../test/raw-server.js'
import { addressGuard, type AddressPolicy } from './address-guard.js'
import { outboundHttp, type OutboundHttp, type OutboundOptions } from './outbound-http.js'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

type Setting = Partial<OutboundOptions> & {
  readonly policy?: AddressPolicy
  readonly answers?: Parameters<typeof dnsServer>[0]
}

async function outbound({
  policy = { allowLoopback: true, allowHttp: true },
  answers = {},
  ...options
}: Setting = {}) {
  const dns = await dnsServer(answers)
  const sender = outboundHttp({
    guard: addressGuard(policy),
    dnsServers: [dns.address],
    ...options,
  })
  closing.push(dns.close, sender.close)
  return { sender, dns }
}

async function receiver(
  answer: Parameters<typeof rawServer>[0] = (socket) => socket.write(http('200 OK', 'ok')),
): Promise<RawServer> {
  const server = await rawServer(answer)
  closing.push(server.close)
  return server
}

const post = (
  sender: OutboundHttp,
  url: string,
  request: { deadlineMs?: number; signal?: AbortSignal; body?: string } = {},
) =>
  sender.send({
    method: 'POST',
    url,
    headers: {},
    body: '{}',
    deadlineMs: 60_000,
    maxBodyBytes: 1_000,
    ...request,
  })

const blocked = { kind: 'unreachable', error: 'address_blocked' }
/** Allows `http:`, so that only the address check protects the tests' listener. */
const strict: AddressPolicy = { allowHttp: true }

describe('a request (row S) never connects to', () => {
  const literals = [
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0',
    '0.0.0.0',
    '%31%32%37.0.0.1',
    '１２７.０.０.１',
    '127.0.0.1.',
  ]
  const ipv6 = [
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
  ]
  it.each([...literals, ...ipv6])('the literal %s', async (host) => {
    const server = await receiver()
    const { sender } = await outbound({ policy: strict })
    expect(await post(sender, `http://${host}:${server.port}/`)).toMatchObject(blocked)
    expect(server.connections).toBe(0)
  })

  it.each([
    ['127.0.0.1'],
    ['127.8.8.8'],
    ['::1'],
    ['::ffff:127.0.0.1'.replace('127.0.0.1', '7f00:1')],
    ['127.0.0.1', '::1'],
  ])('a name that resolves to %s', async (...addresses) => {
    const server = await receiver()
    const { sender } = await outbound({ policy: strict, answers: { 'inside.test': addresses } })
    expect(await post(sender, `http://inside.test:${server.port}/`)).toMatchObject(blocked)
    expect(server.connections).toBe(0)
  })

  it.each(['localhost', 'LOCALHOST.', 'app.localhost'])('%s', async (host) => {
    const server = await receiver()
    const { sender } = await outbound({ policy: strict, answers: { 'app.localhost': ['1.1.1.1'] } })
    expect(await post(sender, `http://${host}:${server.port}/`)).toMatchObject(blocked)
    expect(server.connections).toBe(0)
  })

  it.each([[['127.0.0.1', '127.0.0.2']], [['127.0.0.2', '127.0.0.1']], [['127.0.0.1', '::1']]])(
    'a name with one forbidden address among allowed ones: %j',
    async (addresses) => {
      const server = await receiver()
      const policy = { allowHttp: true, allowedCidrs: ['127.0.0.1/32'] }
      const { sender } = await outbound({
        policy,
        answers: { 'mixed.test': addresses, 'good.test': ['127.0.0.1'] },
      })
      expect(await post(sender, `http://mixed.test:${server.port}/`)).toMatchObject(blocked)
      expect(server.connections).toBe(0)
      expect(await post(sender, `http://good.test:${server.port}/`)).toMatchObject({
        statusCode: 200,
      })
    },
  )

  it('a name that is public at the check and private at the dial (DNS rebinding)', async () => {
    const server = await receiver()
    const answers = { 'rebinding.test': ['93.184.215.14'] }
    const { sender } = await outbound({ policy: strict, answers })
    const url = `http://rebinding.test:${server.port}/`
    expect((await sender.vet(url)).ok).toBe(true)
    answers['rebinding.test'] = ['127.0.0.1']
    expect(await post(sender, url)).toMatchObject(blocked)
    expect(server.connections).toBe(0)
  })

  it('a name that moves to a forbidden address before the second dial', async () => {
    const server = await receiver((socket) => socket.end(http('200 OK', 'ok', 'connection: close')))
    const answers = { 'rebinding.test': ['127.0.0.1'] }
    const { sender } = await outbound({
      policy: { allowHttp: true, allowedCidrs: ['127.0.0.1/32'] },
      answers,
    })
    const url = `http://rebinding.test:${server.port}/`
    expect(await post(sender, url)).toMatchObject({ statusCode: 200 })
    answers['rebinding.test'] = ['127.0.0.2']
    expect(await post(sender, url)).toMatchObject(blocked)
    expect(server.connections).toBe(1)
  })

  it('the target of a redirect', async () => {
    const inside = await receiver()
    const server = await receiver((socket) =>
      socket.write(http('307 Temporary Redirect', '', `location: ${inside.url}`)),
    )
    const { sender } = await outbound()
    expect(await post(sender, server.url)).toMatchObject({ statusCode: 307 })
    expect(inside.connections).toBe(0)
  })

  it('a URL that the current policy rejects', async () => {
    const server = await receiver()
    const { sender } = await outbound({ policy: { allowedCidrs: ['10.0.0.0/8'] } })
    expect(await post(sender, `http://name.test:${server.port}/`)).toEqual({
      ...blocked,
      detail: 'the URL must use https',
    })
  })
})

describe('vet', () => {
  const policy: AddressPolicy = { allowedCidrs: ['10.1.0.0/16'] }
  it.each([
    ['127.0.0.1'],
    ['10.0.0.1'],
    ['169.254.169.254'],
    ['100.64.0.1'],
    ['::1'],
    ['fd00::1'],
    ['fe80::1'],
    ['64:ff9b::a00:1'],
    ['2002:a00:1::'],
    ['0:0:0:0:0:ffff:a00:1'],
    ['0:0:0:0:0:0:7f00:1'],
  ])('rejects a name that resolves to %s, alone or among others', async (address) => {
    const { sender } = await outbound({
      policy,
      answers: { 'inside.test': [address], 'mixed.test': ['1.1.1.1', address, '2606:4700::1111'] },
    })
    for (const name of ['inside.test', 'mixed.test']) {
      expect(unwrapError(await sender.vet(`https://${name}/`))).toBe(
        'must not resolve to a private or reserved address that this service does not allow',
      )
    }
  })

  it('accepts names that resolve to public or listed addresses, or not at all', async () => {
    const { sender } = await outbound({
      policy,
      answers: {
        'public.test': ['1.1.1.1', '2606:4700::1111'],
        'listed.test': ['10.1.2.3'],
        'empty.test': [],
      },
    })
    for (const name of ['public.test', 'listed.test', 'empty.test', 'gone.test'])
      expect((await sender.vet(`https://${name}/`)).ok).toBe(true)
  })

  it('queries no name server for a rejected URL or an IP literal', async () => {
    const { sender, dns } = await outbound({ policy })
    expect(unwrapError(await sender.vet('http://name.test/'))).toBe('must use https')
    expect(unwrapError(await sender.vet('https://10.0.0.1/'))).toBe(
      'must not point to a private or reserved address that this service does not allow',
    )
    expect((await sender.vet('https://10.1.0.1/')).ok).toBe(true)
    expect(dns.questions).toEqual([])
  })
})

describe('connections', () => {
  it('are reused', async () => {
    const server = await receiver()
    const { sender } = await outbound({ connectionsPerOrigin: 1 })
    for (let i = 0; i < 5; i++)
      expect(await post(sender, server.url)).toMatchObject({ statusCode: 200 })
    expect(server.connections).toBe(1)
  })

  it('that are idle are used before a new one opens, also after an abort', async () => {
    const answers: (() => void)[] = []
    const server = await receiver((socket, request) => {
      if (!request.endsWith('held')) socket.write(http('200 OK', 'ok'))
      else answers.push(() => socket.write(http('200 OK', 'ok')))
    })
    const { sender } = await outbound()
    const aborter = new AbortController()
    const aborted = post(sender, server.url, { body: 'held', signal: aborter.signal })
    await eventually('the first connection', () => answers.length === 1)
    const held = post(sender, server.url, { body: 'held' })
    await eventually('the second connection', () => answers.length === 2)
    answers[1]?.()
    await held
    aborter.abort()
    await aborted
    await eventually('the first connection ends', () => server.open.size === 1)
    for (let i = 0; i < 3; i++) await post(sender, server.url)
    expect(server.connections).toBe(2)
  })

  it('to one origin are limited, and other requests wait', async () => {
    const server = await receiver()
    const { sender } = await outbound({ connectionsPerOrigin: 3 })
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => post(sender, server.url)))
    expect(outcomes.every((outcome) => outcome.kind === 'response')).toBe(true)
    expect(server.connections).toBe(3)
  })

  it('are unlimited by default, so that long requests do not block others', async () => {
    let held = 0
    const server = await receiver((socket) => ++held > 300 && socket.write(http('200 OK', 'ok')))
    const { sender } = await outbound()
    const aborter = new AbortController()
    const waiting = Array.from({ length: 300 }, () =>
      post(sender, server.url, { signal: aborter.signal }),
    )
    await eventually('the long requests', () => held === 300)
    expect(await post(sender, server.url)).toMatchObject({ statusCode: 200 })
    aborter.abort()
    await Promise.all(waiting)
  })

  it('of the least recently used idle origin close beyond maxOrigins', async () => {
    // A long keep-alive, so that connections do not close for another reason.
    const lasting = () =>
      receiver((socket) => socket.write(http('200 OK', '', 'keep-alive: timeout=60')))
    const first = await lasting()
    const second = await lasting()
    const third = await lasting()
    const busy = await receiver((socket) => void socket)
    const { sender } = await outbound({ maxOrigins: 3 })
    const aborter = new AbortController()
    const held = post(sender, busy.url, { signal: aborter.signal })
    await eventually('the held request', () => busy.requests.length === 1)
    for (const { url } of [first, second, first]) await post(sender, url)
    expect([first.open.size, second.open.size]).toEqual([1, 1])
    await post(sender, third.url)
    await eventually('the second origin is left', () => second.open.size === 0)
    expect([first.open.size, third.open.size, busy.open.size]).toEqual([1, 1, 1])
    expect(await post(sender, second.url)).toMatchObject({ statusCode: 200 })
    aborter.abort()
    expect(await held).toMatchObject({ error: 'timeout', detail: 'the caller aborted the request' })
  })

  it('survive a request that is aborted while it waits', async () => {
    const answers: (() => void)[] = []
    const server = await receiver((socket) =>
      answers.push(() => socket.write(http('200 OK', 'ok'))),
    )
    const { sender } = await outbound({ connectionsPerOrigin: 1 })
    const first = post(sender, server.url, { body: 'first' })
    await eventually('the first request', () => answers.length === 1)
    const aborter = new AbortController()
    const waiting = post(sender, server.url, { body: 'given up', signal: aborter.signal })
    const third = post(sender, server.url, { body: 'third' })
    aborter.abort()
    expect(await waiting).toMatchObject({ error: 'timeout' })
    answers[0]?.()
    expect(await first).toMatchObject({ statusCode: 200 })
    await eventually('the third request', () => answers.length === 2)
    answers[1]?.()
    expect(await third).toMatchObject({ statusCode: 200 })
    expect(server.connections).toBe(1)
    expect(server.requests.join()).not.toContain('given up')
  })

  it('that the receiver closes are replaced for waiting requests', async () => {
    const server = await receiver((socket) => socket.end(http('200 OK', 'ok', 'connection: close')))
    const { sender } = await outbound({ connectionsPerOrigin: 1 })
    const outcomes = await Promise.all(Array.from({ length: 5 }, () => post(sender, server.url)))
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(
      Array.from({ length: 5 }, () => 'response'),
    )
    expect([server.requests.length, server.connections]).toEqual([5, 5])
  })

  it('that are refused fail the waiting requests in the same way', async () => {
    const server = await receiver()
    await server.close()
    closing.splice(0, 1)
    const { sender } = await outbound({ connectionsPerOrigin: 2 })
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => post(sender, server.url)))
    expect(outcomes).toEqual(
      outcomes.map(() => ({
        kind: 'unreachable',
        error: 'connect',
        detail: 'no connection (ECONNREFUSED)',
      })),
    )
  })

  it('use the next address of a name when one refuses', async () => {
    const server = await receiver()
    const { sender } = await outbound({ answers: { 'two.test': ['127.0.0.1', '::1'] } })
    expect(await post(sender, `http://localhost:${server.port}/`)).toMatchObject({
      statusCode: 200,
    })
    expect(await post(sender, `http://two.test:${server.port}/`)).toMatchObject({ statusCode: 200 })
  })
})

describe('names', () => {
  it('that hang end at the deadline and do not delay other names', async () => {
    const server = await receiver()
    const { sender, dns } = await outbound({
      answers: { 'hanging.test': 'silent', 'good.test': ['127.0.0.1'] },
    })
    let ended = false
    const hanging = Promise.all(
      Array.from({ length: 20 }, () =>
        post(sender, `http://hanging.test:${server.port}/`, { deadlineMs: 1_500 }),
      ),
    )
    void hanging.then(() => (ended = true))
    await eventually('the questions', () => dns.questions.length >= 40)
    expect(await post(sender, `http://good.test:${server.port}/`)).toMatchObject({
      statusCode: 200,
    })
    expect(ended).toBe(false)
    for (const outcome of await hanging)
      expect(outcome).toMatchObject({
        error: 'timeout',
        detail: 'no complete response within 1500 ms',
      })
  })

  it('that hang end at the connect timeout if it is shorter', async () => {
    const { sender } = await outbound({
      connectTimeoutMs: 100,
      answers: { 'hanging.test': 'silent' },
    })
    expect(await post(sender, 'http://hanging.test/')).toMatchObject({
      error: 'timeout',
      detail: 'no connection within 100 ms',
    })
  })

  it('that do not exist fail as dns', async () => {
    const { sender } = await outbound()
    expect(await post(sender, 'http://gone.test/')).toEqual({
      kind: 'unreachable',
      error: 'dns',
      detail: 'the name does not resolve (ENOTFOUND)',
    })
  })
})

describe('ending', () => {
  it('a request by its signal closes its connection', async () => {
    const server = await receiver((socket) => void socket)
    const { sender } = await outbound()
    const aborter = new AbortController()
    const sent = post(sender, server.url, { signal: aborter.signal })
    await eventually('the request', () => server.requests.length === 1)
    aborter.abort()
    expect(await sent).toMatchObject({ error: 'timeout', detail: 'the caller aborted the request' })
    await eventually('the connection ends', () => server.open.size === 0)
    expect(await post(sender, server.url, { signal: aborter.signal })).toMatchObject({
      error: 'timeout',
    })
    expect(server.connections).toBe(1)
  })

  it('the client settles requests at every stage and rejects later ones', async () => {
    const silent = await receiver((socket) => void socket)
    const { sender, dns } = await outbound({
      connectionsPerOrigin: 1,
      answers: { 'hanging.test': 'silent' },
    })
    const atServer = post(sender, silent.url)
    const queued = post(sender, silent.url)
    const resolving = post(sender, 'http://hanging.test/')
    await eventually('the request', () => silent.requests.length === 1)
    await eventually('the questions', () => dns.questions.length >= 2)
    const [socket] = silent.open
    const gone = socket && once(socket, 'close')
    await sender.close()
    for (const sent of [atServer, queued, resolving])
      expect(await sent).toEqual({
        kind: 'unreachable',
        error: 'interrupted',
        detail: 'the service is stopping',
      })
    await gone
    expect(await post(sender, silent.url)).toEqual({
      kind: 'unreachable',
      error: 'interrupted',
      detail: 'the service is stopping',
    })
    await sender.close()
  })
})
