import { getServers } from 'node:dns'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { connect, createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { certificate, certificateKey } from '../../../adapter-outbound/test/certificate.js'
import { dnsServer, type DnsAnswer } from '../../../adapter-outbound/test/dns-server.js'
import { http, rawTlsServer } from '../../../adapter-outbound/test/raw-server.js'
import { realServer, type RealServer } from '../e2e/real-server.js'
import { attemptAt, deliveryAt, registered, runOf } from './calls.js'
import { expiredCertificate, leafKey, selfSignedCertificate } from './certificates.js'
import { HI, PUBLIC } from './everywhere.js'
import { inNetworkNamespace } from './namespace.js'

const DEADLINE_MS = 1_000
/** For receivers that answer or fail at once, also on a busy machine. */
const LONG_DEADLINE_MS = 20_000

type Answer = (socket: Socket) => void
const says =
  (text: string): Answer =>
  (socket) =>
    socket.write(text)
const endless =
  (begin: string, more: string): Answer =>
  (socket) => {
    socket.write(begin)
    const fill = () => {
      while (!socket.destroyed && socket.write(more));
    }
    socket.on('drain', fill)
    fill()
  }
const trickling =
  (begin: string, drop: string): Answer =>
  (socket) => {
    socket.write(begin)
    const timer = setInterval(() => socket.write(drop), 20)
    socket.on('close', () => clearInterval(timer))
  }
/** Closes the connection without a TLS close alert. */
const breaking =
  (begin: string): Answer =>
  (socket) =>
    socket.write(begin, () => socket.destroy())

const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'
const bomb = gzipSync(Buffer.alloc(20 * 1024 * 1024))

const TIMED_OUT = unreachable('timeout')

/** Behaviours of a receiver, with the expected attempt and run. */
const RECEIVERS: [what: string, answer: Answer, attempt: object, run: object][] = [
  ['never answers', () => undefined, TIMED_OUT, failed('did not answer')],
  [
    'trickles its head',
    trickling('HTTP/1.1 200 OK\r\nx-a: ', 'a'),
    TIMED_OUT,
    failed('did not answer'),
  ],
  ['trickles its body', trickling(CHUNKED, '1\r\n \r\n'), TIMED_OUT, failed('did not answer')],
  ['closes before its head', (socket) => socket.destroy(), unreachable('reset'), failed('(reset)')],
  [
    'closes within its head',
    breaking('HTTP/1.1 200 OK\r\ncont'),
    unreachable('reset'),
    failed('(reset)'),
  ],
  [
    'closes within its body',
    breaking('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf'),
    unreachable('reset'),
    failed('(reset)'),
  ],
  [
    'has an endless body',
    endless(CHUNKED, `400\r\n${'y'.repeat(1_024)}\r\n`),
    { statusCode: 200, responseBody: 'y'.repeat(16_384) },
    failed('has more than'),
  ],
  [
    'has endless headers',
    endless('HTTP/1.1 200 OK\r\n', `x-filler: ${'z'.repeat(1_000)}\r\n`),
    unreachable('protocol'),
    failed('(protocol)'),
  ],
  [
    'switches protocols',
    says('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'),
    unreachable('protocol'),
    failed('(protocol)'),
  ],
  [
    'floods with 103',
    endless('', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10)),
    unreachable('protocol'),
    failed('(protocol)'),
  ],
  ['sends garbage', says('SSH-2.0-OpenSSH_9.2\r\n'), unreachable('protocol'), failed('(protocol)')],
  [
    'sends a gzip bomb',
    (socket) => {
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`,
      )
      socket.write(bomb)
    },
    { outcome: 'accepted' },
    failed('must be JSON'),
  ],
  [
    'redirects',
    says(http('302 Found', '', `location: https://${PUBLIC}/`)),
    refused(302),
    failed('answered 302'),
  ],
  [
    'is gone',
    says(http('410 Gone', 'gone')),
    { ...refused(410), responseBody: 'gone' },
    failed('answered 410'),
  ],
  [
    'asks to slow down',
    says(http('429 Slow Down', '', 'retry-after: 1')),
    refused(429),
    failed('answered 429'),
  ],
  [
    'answers after the deadline',
    (socket) => void setTimeout(() => socket.write(HI), 1.5 * DEADLINE_MS),
    TIMED_OUT,
    failed('did not answer'),
  ],
  ['answers correctly', says(HI), { outcome: 'accepted' }, { state: 'responded', response: 'hi' }],
]

function unreachable(error: string): object {
  return { outcome: 'unreachable', error }
}
function refused(statusCode: number): object {
  return { outcome: 'refused', statusCode }
}
function failed(words: string): object {
  return { state: 'failed', error: { message: expect.stringContaining(words) as string } }
}

inNetworkNamespace(import.meta.url, () => {
  const names = ['receiver.test', 'other.test', 'expired.test', 'selfsigned.test']
  const answers: Record<string, DnsAnswer> = Object.fromEntries(
    names.map((name) => [name, [PUBLIC]]),
  )
  const closing: (() => Promise<unknown>)[] = []
  let server: RealServer

  async function receiver(
    answer: Answer,
    tls: { cert?: string; key?: string } = {},
  ): Promise<(name?: string) => string> {
    const { port, close } = await rawTlsServer(answer, { host: PUBLIC, ...tls })
    closing.push(close)
    return (name = 'receiver.test') => `https://${name}:${port}/hook`
  }
  const webhookAt = (url: string, deadlineMs = DEADLINE_MS): Promise<string> =>
    registered(server, 'webhook', url, deadlineMs)
  const agentAt = (url: string, deadlineMs = DEADLINE_MS): Promise<string> =>
    registered(server, 'agent', url, deadlineMs)

  beforeAll(async () => {
    const dns = await dnsServer(answers, { host: getServers()[0] ?? '127.0.0.1', port: 53 })
    const folder = await mkdtemp(path.join(tmpdir(), 'hostile-'))
    const ca = path.join(folder, 'ca.pem')
    await writeFile(ca, certificate)
    const env = {
      NODE_EXTRA_CA_CERTS: ca,
      SERVICE_WEBHOOK_ALLOWED_CIDRS: '',
      SERVICE_WEBHOOK_RETRY_SCHEDULE: '5s,1h',
    }
    server = await realServer({ env: { ...env, SERVICE_DELIVERY_TIMEOUT_MS: String(DEADLINE_MS) } })
    closing.push(dns.close, server.dispose, () => rm(folder, { recursive: true }))
  })
  afterAll(async () => void (await Promise.all(closing.map((close) => close()))))

  describe('a receiver or a remote agent (row R)', () => {
    it.each(RECEIVERS)(
      'that %s gets the expected result within the deadline',
      async (_what, answer, attempt, run) => {
        const url = (await receiver(answer))()
        const deadlineMs = attempt === TIMED_OUT ? DEADLINE_MS : LONG_DEADLINE_MS
        const [webhookId, agentId] = await Promise.all([
          webhookAt(url, deadlineMs),
          agentAt(url, deadlineMs),
        ])
        const [attempted, ran] = await Promise.all([
          attemptAt(server, webhookId),
          runOf(server, agentId),
        ])
        expect(attempted).toMatchObject(attempt)
        expect(ran).toMatchObject(run)
      },
    )

    it.each([
      [
        'that is self-signed',
        'selfsigned.test',
        { cert: selfSignedCertificate, key: leafKey },
        'DEPTH_ZERO_SELF_SIGNED_CERT',
      ],
      ['for another name', 'other.test', {}, 'ERR_TLS_CERT_ALTNAME_INVALID'],
      [
        'that has expired',
        'expired.test',
        { cert: expiredCertificate, key: leafKey },
        'CERT_HAS_EXPIRED',
      ],
    ])('with a certificate %s gets nothing', async (_what, name, tls, code) => {
      const requests: unknown[] = []
      const url = (await receiver((socket) => requests.push(socket), tls))(name)
      const detail = `the certificate is not trusted (${code})`
      expect(await attemptAt(server, await webhookAt(url, LONG_DEADLINE_MS))).toMatchObject({
        outcome: 'unreachable',
        error: 'tls',
        detail,
      })
      expect(await runOf(server, await agentAt(url, LONG_DEADLINE_MS))).toMatchObject(
        failed(detail),
      )
      expect(requests).toEqual([])
    })

    it('that is slow in each phase times out, because all phases share one deadline', async () => {
      const share = 0.4 * DEADLINE_MS
      const head = 'HTTP/1.1 200 OK\r\ncontent-length: 17\r\n\r\n'
      const inner = await rawTlsServer(
        (socket) => {
          setTimeout(() => socket.write(head), share)
          setTimeout(() => socket.write('{"response":"hi"}'), 2 * share)
        },
        { host: PUBLIC },
      )
      const slowTls = createTcpServer((socket) => {
        socket.on('error', () => undefined)
        setTimeout(
          () => socket.pipe(connect(inner.port, PUBLIC).on('error', () => undefined)).pipe(socket),
          share,
        )
      }).listen(0, PUBLIC)
      closing.push(inner.close, async () => slowTls.close())
      await expect.poll(() => slowTls.listening).toBe(true)
      const url = `https://receiver.test:${(slowTls.address() as AddressInfo).port}/`
      const [webhookId, agentId] = await Promise.all([webhookAt(url), agentAt(url)])
      answers['receiver.test'] = { addresses: [PUBLIC], afterMs: share }
      const [attempt, run] = await Promise.all([
        attemptAt(server, webhookId),
        runOf(server, agentId),
      ])
      answers['receiver.test'] = [PUBLIC]
      const detail = `no complete response within ${DEADLINE_MS} ms`
      expect(attempt).toMatchObject({ outcome: 'unreachable', error: 'timeout', detail })
      expect(run).toMatchObject(failed(detail))
    })
  })

  it('hostile receivers do not delay deliveries to others', async () => {
    const urls = await Promise.all(RECEIVERS.map(async ([, answer]) => (await receiver(answer))()))
    const hostile = await Promise.all(urls.map((url) => webhookAt(url)))
    const good = await webhookAt((await receiver(says(HI)))(), LONG_DEADLINE_MS)
    const attempts = hostile.map((id) => attemptAt(server, id))
    for (let n = 0; n < 10; n++)
      expect(await attemptAt(server, good)).toMatchObject({ outcome: 'accepted' })
    await Promise.all(attempts)
  })

  const IN_120_S = (): Date => new Date(Math.ceil(Date.now() / 1_000) * 1_000 + 120_000)
  const forms = {
    seconds: () => '120',
    'IMF-fixdate': () => IN_120_S().toUTCString(),
    'RFC 850': () => {
      const [day = '', date, month, year = '', time] = IN_120_S().toUTCString().split(/,? /)
      const full = {
        Mon: 'Monday',
        Tue: 'Tuesday',
        Wed: 'Wednesday',
        Thu: 'Thursday',
        Fri: 'Friday',
        Sat: 'Saturday',
        Sun: 'Sunday',
      }[day]
      return `${full}, ${date}-${month}-${year.slice(2)} ${time} GMT`
    },
    asctime: () => {
      const [day, date, month, year, time] = IN_120_S().toUTCString().split(/,? /)
      return `${day} ${month} ${String(Number(date)).padStart(2)} ${time} ${year}`
    },
  }
  it.each([429, 503])(
    'a valid `Retry-After` with a %d is a minimum delay, and an invalid one is ignored',
    async (status) => {
      const waitAfter = async (retryAfter: () => string): Promise<number> => {
        const url = (
          await receiver((socket) =>
            socket.write(http(`${status} Later`, '', `retry-after: ${retryAfter()}`)),
          )
        )()
        const { attempts, nextAttemptAt = '' } = await deliveryAt(
          server,
          await webhookAt(url, LONG_DEADLINE_MS),
        )
        return Date.parse(nextAttemptAt) - Date.parse(attempts[0]?.startedAt ?? '')
      }
      for (const [form, text] of Object.entries(forms))
        expect(await waitAfter(text), form).toBeGreaterThanOrEqual(120_000)
      const past = new Date(0).toUTCString()
      for (const text of ['0', '-1', '1.5', 'soon', past])
        expect(await waitAfter(() => text), text).toBeLessThan(60_000)
      expect(await waitAfter(() => '9'.repeat(30))).toBeLessThanOrEqual(24 * 3_600_000 + 10_000)
    },
  )

  it('a receiver or an agent can call the API from its handler', async () => {
    await server.api('POST', '/v1/agents', {
      name: 'parrot',
      runtime: { kind: 'function', handler: 'echo' },
      desiredState: 'running',
    })
    const seen: unknown[] = []
    const handle = async (_request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const sent = await server.api('POST', '/v1/agents/parrot/messages', {
        sessionId: 's',
        message: 'from the handler',
      })
      const listed = await server.api('GET', '/v1/deliveries')
      seen.push(await sent.json(), listed.status)
      response.end('{"response":"called"}')
    }
    const calling = createServer(
      { cert: certificate, key: certificateKey },
      (request, response) => void handle(request, response),
    )
    calling.listen(0, PUBLIC)
    closing.push(async () => {
      calling.closeAllConnections()
      calling.close()
    })
    await expect.poll(() => calling.listening).toBe(true)
    const url = `https://receiver.test:${(calling.address() as AddressInfo).port}/`
    expect(await attemptAt(server, await webhookAt(url, LONG_DEADLINE_MS))).toMatchObject({
      outcome: 'accepted',
    })
    expect(await runOf(server, await agentAt(url, LONG_DEADLINE_MS))).toMatchObject({
      state: 'responded',
      response: 'called',
    })
    const answered = expect.objectContaining({
      status: 'responded',
      response: 'from the handler',
    }) as unknown
    expect(seen).toEqual([answered, 200, answered, 200])
  })
})
