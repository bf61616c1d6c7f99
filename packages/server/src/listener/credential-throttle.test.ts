import { request as httpRequest } from 'node:http'
import { randomBytes } from 'node:crypto'
import { newApiKey } from '@org/agent-messaging-core/host'
import { fakeClock } from '@org/agent-messaging-testing'
import { expect, it, onTestFinished } from 'vitest'
import {
  CredentialThrottle,
  WRONG_PER_MINUTE,
  type ThrottleOptions,
} from './credential-throttle.js'
import { openListener, type Bindings } from './http-listener.js'

const GOOD = 'Bearer a-valid-key'
const NO_CHECKS = {
  isValidKey: async () => false,
  isRunToken: () => false,
  onUntrustedProxy: () => undefined,
}

/** A server that accepts one key, behind the throttle. Returns a function that sends requests. */
async function throttled(options: Partial<ThrottleOptions> = {}) {
  const locked: string[] = []
  const throttle = new CredentialThrottle({
    isGuarded: (pathname) => pathname.startsWith('/v1/'),
    onLocked: (address) => locked.push(address),
    ...NO_CHECKS,
    clock: fakeClock(),
    ...options,
  })
  const listener = await openListener({
    host: '127.0.0.1',
    port: 0,
    fetch: throttle.wrap((request) => {
      if (new URL(request.url).pathname === '/healthz') return new Response('ok')
      const { headers } = request
      const isGood = headers.get('authorization') === GOOD && !headers.has('x-wrong')
      return new Response(null, { status: isGood ? 200 : 401 })
    }),
  })
  onTestFinished(() => listener.close(0))
  const send = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<{ status: number; retryAfter: string | undefined }>((resolve, reject) => {
      httpRequest(listener.url + path, { method, headers }, (answer) => {
        answer.resume()
        const { statusCode = 0, headers: got } = answer
        answer.on('end', () => resolve({ status: statusCode, retryAfter: got['retry-after'] }))
      })
        .on('error', reject)
        .end()
    })
  const guess = (headers: Record<string, string> = {}) =>
    send('/v1/agents', { authorization: 'Bearer wrong', ...headers })
  /** Sends wrong keys, one more than are free. */
  const lock = async (headers?: Record<string, string>): Promise<void> => {
    for (let i = 0; i <= WRONG_PER_MINUTE.api; i++) expect((await guess(headers)).status).toBe(401)
  }
  return { send, guess, lock, locked }
}

it('an address that sent too many wrong keys gets 429, which is reported once', async () => {
  const { guess, lock, locked } = await throttled()
  await lock()
  for (let i = 0; i < 3; i++) {
    const { status, retryAfter } = await guess()
    expect([status, Number(retryAfter) > 0 && Number(retryAfter) <= 60]).toEqual([429, true])
  }
  expect(locked).toEqual(['api 127.0.0.1'])
})

it('a key that was accepted before works from a locked address, and an unknown key does not', async () => {
  const { send, lock } = await throttled()
  expect((await send('/v1/agents', { authorization: GOOD })).status).toBe(200)
  await lock()
  expect((await send('/v1/agents', { authorization: GOOD })).status).toBe(200)
  expect((await send('/v1/agents', { authorization: 'Bearer other' })).status).toBe(429)
})

it('a key that was accepted before counts as wrong when it is revoked, even if its caller left', async () => {
  const locked: string[] = []
  const throttle = new CredentialThrottle({
    isGuarded: () => true,
    onLocked: (address) => locked.push(address),
    ...NO_CHECKS,
    clock: fakeClock(),
  })
  const caller = { remoteAddress: '127.0.0.1' as string | undefined }
  let status = 200
  const fetch = throttle.wrap(() => {
    caller.remoteAddress = undefined
    return new Response(null, { status })
  })
  const call = () => {
    caller.remoteAddress = '127.0.0.1'
    const request = new Request('http://localhost/v1/agents', { headers: { authorization: GOOD } })
    return fetch(request, { incoming: { socket: caller, headers: {} } } as Bindings)
  }
  await call()
  status = 401
  for (let i = 0; i <= WRONG_PER_MINUTE.api; i++) await call()
  expect(locked).toEqual(['api 127.0.0.1'])
})

it('a public route teaches the throttle no key, and needs none', async () => {
  const { send, guess, lock } = await throttled()
  expect((await send('/healthz', { authorization: 'Bearer wrong' })).status).toBe(200)
  await lock()
  expect((await guess()).status).toBe(429)
  expect((await send('/healthz')).status).toBe(200)
})

it('the lock ends', async () => {
  let now = 0
  const { guess, lock } = await throttled({ now: () => now })
  await lock()
  expect((await guess()).status).toBe(429)
  now = 60_001
  expect((await guess()).status).toBe(401)
})

it('wrong sign-ins to the console have a lower limit, which does not lock the API', async () => {
  const { send, guess } = await throttled()
  const statuses: number[] = []
  for (let i = 0; i < WRONG_PER_MINUTE.console + 3; i++)
    statuses.push((await send('/console/sign-in', {}, 'POST')).status)
  expect(statuses.filter((status) => status === 401)).toHaveLength(WRONG_PER_MINUTE.console + 1)
  expect(statuses.filter((status) => status === 429)).toHaveLength(2)
  expect((await guess()).status).toBe(401)
})

it.each([
  ['a trusted proxy names the caller', ['127.0.0.0/8'], 401],
  ['another sender cannot choose its address', [], 429],
])('%s', async (_, trustedProxies, expected) => {
  const { guess, lock } = await throttled({ trustedProxies })
  await lock({ 'x-forwarded-for': '203.0.113.1, 198.51.100.7' })
  expect((await guess({ 'x-forwarded-for': '198.51.100.8' })).status).toBe(expected)
  expect((await guess({ 'x-forwarded-for': '203.0.113.9, 198.51.100.7' })).status).toBe(429)
})

it('the addresses of one IPv6 /64 network count as one', async () => {
  const { guess, lock } = await throttled({ trustedProxies: ['127.0.0.0/8'] })
  await lock({ 'x-forwarded-for': '2001:db8:1:2::1' })
  expect((await guess({ 'x-forwarded-for': '2001:db8:1:2:ffff::9' })).status).toBe(429)
  expect((await guess({ 'x-forwarded-for': '2001:db8:1:3::1' })).status).toBe(401)
})

it.each([
  ['203.0.113.1:5678', '203.0.113.1:9999', '203.0.113.2:5678'],
  ['[2001:db8:1:2::1]:5678', '2001:db8:1:2::2', '[2001:db8:1:3::1]:5678'],
])('the port that a proxy adds to %s does not count', async (first, same, other) => {
  const { lock, guess } = await throttled({ trustedProxies: ['127.0.0.0/8'] })
  await lock({ 'x-forwarded-for': first })
  expect((await guess({ 'x-forwarded-for': same })).status).toBe(429)
  expect((await guess({ 'x-forwarded-for': other })).status).toBe(401)
})

it('sign-ins that arrive together get no more answers than one after the other', async () => {
  const { send } = await throttled()
  const signIns = Array.from({ length: 2 * WRONG_PER_MINUTE.console }, () =>
    send('/console/sign-in', {}, 'POST'),
  )
  const wrong = (await Promise.all(signIns)).filter(({ status }) => status === 401)
  expect(wrong.length).toBe(WRONG_PER_MINUTE.console + 1)
})

it('many first requests with one valid key are accepted', async () => {
  const { send } = await throttled()
  const requests = Array.from({ length: 2 * WRONG_PER_MINUTE.api }, () =>
    send('/v1/agents', { authorization: GOOD }),
  )
  expect(new Set((await Promise.all(requests)).map(({ status }) => status))).toEqual(new Set([200]))
})

it.each(['/console/sign%2Din', '/console/%73ign-in', '/console/ente%72'])(
  'wrong sign-ins at %s count, because the router decodes the path',
  async (path) => {
    const { send } = await throttled()
    const statuses: number[] = []
    for (let i = 0; i < WRONG_PER_MINUTE.console + 3; i++)
      statuses.push((await send(path, {}, 'POST')).status)
    expect(statuses.filter((status) => status === 429)).toHaveLength(2)
  },
)

/** A throttle whose reads of keys end when the test says so, and its requests. */
function withKeys(valid: readonly string[]) {
  const clock = fakeClock()
  const notices: string[] = []
  const reads: string[] = []
  const ends: (() => void)[] = []
  const throttle = new CredentialThrottle({
    isGuarded: () => true,
    isValidKey: (key) => {
      reads.push(key)
      const end = new Promise<void>((resolve) => ends.push(resolve))
      return end.then(() => valid.includes(key))
    },
    isRunToken: ({ messageId, runToken }) => runToken === `amr_1_${messageId}`,
    onLocked: () => undefined,
    onUntrustedProxy: () => notices.push('untrusted'),
    clock,
  })
  const fetch = throttle.wrap((request) => {
    const token = request.headers.get('authorization')?.slice(7) ?? ''
    const isGood = valid.includes(token) || token.startsWith('amr_1_')
    return new Response(null, { status: isGood ? 200 : 401 })
  })
  const call = async (
    token: string,
    { path = '/v1/agents', from = '203.0.113.1', headers = {}, scheme = 'Bearer' } = {},
  ) => {
    const request = new Request(`http://localhost${path}`, {
      headers: { authorization: `${scheme} ${token}` },
    })
    const socket = { remoteAddress: from, destroyed: false }
    return fetch(request, { incoming: { socket, headers } } as unknown as Bindings)
  }
  const endReads = async () => {
    while (ends.length > 0) {
      ends.shift()?.()
      await clock.advance(0)
    }
  }
  const lock = async () => {
    for (let n = 0; n <= WRONG_PER_MINUTE.api; n++) await call('wrong')
    expect((await call('wrong')).status).toBe(429)
  }
  return { clock, notices, reads, call, endReads, lock }
}

const newKey = (): string => newApiKey(randomBytes)

it('a new valid session token works from a locked address, and a wrong one does not', async () => {
  const token = 'ams_a-payload.a-signature'
  const { call, endReads, lock } = withKeys([token])
  await lock()
  const answers = [call(token), call('ams_a-payload.another')]
  await endReads()
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 429])
})

it('a new valid key works from a locked address, and a wrong one of its form does not', async () => {
  const key = newKey()
  const { call, endReads, lock, reads } = withKeys([key])
  await lock()
  const answers = [call(key), call(newKey()), call(key.slice(0, -1)), call(key.toUpperCase())]
  await endReads()
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([200, 429, 429, 429])
  expect(reads).toHaveLength(2)
  expect((await call(key)).status).toBe(200)
  expect(reads).toHaveLength(2)
})

it('the scheme of a new valid key can have any case', async () => {
  const key = newKey()
  const { call, endReads, lock } = withKeys([key])
  await lock()
  const answer = call(key, { scheme: 'BEARER' })
  await endReads()
  expect((await answer).status).toBe(200)
})

it('four keys of an address are read at once, and other addresses do not wait for it', async () => {
  const keys = Array.from({ length: 10 }, newKey)
  const { call, clock, endReads, reads } = withKeys(keys)
  const answers = keys.map((key) => call(key))
  await clock.advance(0)
  expect(reads).toHaveLength(4)
  const other = call(keys[0] ?? '', { from: '198.51.100.7' })
  await clock.advance(0)
  expect(reads).toHaveLength(5)
  await endReads()
  expect(new Set((await Promise.all([...answers, other])).map(({ status }) => status))).toEqual(
    new Set([200]),
  )
})

it('a key that waits for five seconds gets 503, and so does one behind a thousand', async () => {
  const { call, clock } = withKeys([])
  const answers = Array.from({ length: 1_005 }, () => call(newKey()))
  await clock.advance(0)
  const refused = await answers[1_004]
  expect([refused?.status, Number(refused?.headers.get('retry-after')) > 0]).toEqual([503, true])
  await clock.advance(5_000)
  const late = await answers[4]
  expect([late?.status, await late?.json()]).toMatchObject([
    503,
    { error: { code: 'UNAVAILABLE' } },
  ])
})

it('10,000 wrong keys a minute refuse neither a new key nor a callback', async () => {
  const keys = Array.from({ length: 100 }, newKey)
  const { call, endReads } = withKeys(keys)
  const callback = { path: '/v1/agents/a/messages/0198C2F4/response' }
  for (let n = 0; n < 10_000; n++) {
    const answer = call(n % 2 ? newKey() : `wrong-${n}`)
    await endReads()
    await answer
    if (n % 100 > 0) continue
    const valid = call(keys[n / 100] ?? '')
    await endReads()
    expect((await valid).status).toBe(200)
    expect((await call('amr_1_0198c2f4', callback)).status).toBe(200)
  }
  expect((await call('amr_1_another', callback)).status).toBe(429)
  expect((await call('amr_1_0198c2f4')).status).toBe(429)
})

it('the first request of a proxy that is not trusted is reported, once', async () => {
  const { call, notices } = withKeys([])
  await call('wrong')
  expect(notices).toEqual([])
  for (let n = 0; n < 3; n++) await call('wrong', { headers: { 'x-forwarded-for': '192.0.2.1' } })
  expect(notices).toEqual(['untrusted'])
})

it('a valid key beside a sign-in to the console does not lift its limit', async () => {
  const { send } = await throttled()
  const headers = { authorization: GOOD }
  expect((await send('/v1/agents', headers)).status).toBe(200)
  const statuses: number[] = []
  for (let i = 0; i < WRONG_PER_MINUTE.console + 3; i++)
    statuses.push((await send('/console/sign-in', { ...headers, 'x-wrong': '1' }, 'POST')).status)
  expect(statuses.at(-1)).toBe(429)
})
