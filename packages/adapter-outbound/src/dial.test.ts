import { createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { certificate } from '../test/certificate.js'
import { dnsServer } from '../test/dns-server.js'
import { eventually } from '../test/eventually.js'
import { http, rawServer, rawTlsServer, type RawServer } from '../test/raw-server.js'
import { addressGuard } from './address-guard.js'
import { dialer } from './dial.js'
import { outboundHttp, type OutboundOptions } from './outbound-http.js'

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function closedLater<T extends { close(): Promise<void> }>(opened: Promise<T>): Promise<T> {
  const it = await opened
  closing.push(it.close)
  return it
}

const tlsReceiver = (): Promise<RawServer> =>
  closedLater(rawTlsServer((socket) => socket.write(http('200 OK', 'ok'))))

async function posting(options: Partial<OutboundOptions> = {}) {
  const dns = await closedLater(
    dnsServer({ 'receiver.test': ['127.0.0.1'], 'other.test': ['127.0.0.1'] }),
  )
  const sender = outboundHttp({
    guard: addressGuard({ allowLoopback: true }),
    dnsServers: [dns.address],
    ...options,
  })
  closing.push(sender.close)
  return (url: string, deadlineMs = 60_000) =>
    sender.send({ method: 'POST', url, headers: {}, body: '{}', maxBodyBytes: 100, deadlineMs })
}

describe('a dial', () => {
  const never = new AbortController().signal
  const dialling = (guard: { isAllowed(address: string): boolean }, found: readonly string[]) =>
    dialer({ guard, resolve: async () => found, timeoutMs: 60_000 })

  it('connects to no address of a name if one is forbidden, and checks IP literals', async () => {
    const server = await closedLater(rawServer((socket) => void socket))
    const asked: string[] = []
    const guard = {
      isAllowed: (address: string) => asked.push(address) > 0 && address !== '127.0.0.1',
    }
    for (const hostname of ['127.0.0.1', 'name.test']) {
      const dialled = dialling(guard, ['127.0.0.2', '127.0.0.1'])(
        { hostname, protocol: 'http:', port: String(server.port) },
        never,
      )
      await expect(dialled).rejects.toMatchObject({ outcome: { error: 'address_blocked' } })
    }
    expect(asked).toEqual(['127.0.0.1', '127.0.0.2', '127.0.0.1'])
    expect(server.connections).toBe(0)
  })

  it('leaves no socket when it is aborted', async () => {
    const server = await closedLater(rawServer((socket) => void socket))
    const aborter = new AbortController()
    const dialled = dialling({ isAllowed: () => true }, ['127.0.0.1'])(
      { hostname: 'name.test', protocol: 'https:', port: String(server.port) },
      aborter.signal,
    )
    dialled.catch(() => undefined)
    await eventually('the connection', () => server.connections === 1)
    const reason = new Error('enough')
    aborter.abort(reason)
    await expect(dialled).rejects.toBe(reason)
    await eventually('the connection ends', () => server.open.size === 0)
  })
})

describe('a TLS request', () => {
  it('reuses its connection to a receiver with a trusted certificate', async () => {
    const server = await tlsReceiver()
    const post = await posting({ ca: certificate })
    for (const host of ['receiver.test', 'receiver.test', 'localhost', '127.0.0.1']) {
      expect(await post(`https://${host}:${server.port}/hook`)).toMatchObject({
        kind: 'response',
        statusCode: 200,
      })
    }
    expect(server.connections).toBe(3)
    expect(server.requests[0]).toContain(`host: receiver.test:${server.port}\r\n`)
  })

  it('fails as tls for a self-signed certificate and sends nothing', async () => {
    const server = await tlsReceiver()
    const post = await posting()
    expect(await post(server.url)).toEqual({
      kind: 'unreachable',
      error: 'tls',
      detail: 'the certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT)',
    })
    expect(server.requests).toEqual([])
    await eventually('the connection ends', () => server.open.size === 0)
  })

  it('fails as tls for a certificate of another name', async () => {
    const server = await tlsReceiver()
    const post = await posting({ ca: certificate })
    const outcome = {
      kind: 'unreachable',
      error: 'tls',
      detail: 'the certificate is not trusted (ERR_TLS_CERT_ALTNAME_INVALID)',
    }
    expect(await post(`https://other.test:${server.port}/`)).toEqual(outcome)
    expect(server.requests).toEqual([])
  })

  it('fails as tls at a port that speaks plain HTTP', async () => {
    const server = createServer((socket) =>
      socket.on('error', () => undefined).on('data', () => socket.write(http('400 Bad Request'))),
    ).listen(0, '127.0.0.1')
    closing.push(() => new Promise((resolve) => void server.close(() => resolve())))
    await eventually('listening', () => server.listening)
    const post = await posting()
    const { port } = server.address() as { port: number }
    const outcome = await post(`https://127.0.0.1:${port}/`)
    expect(outcome).toMatchObject({ kind: 'unreachable', error: 'tls' })
    expect(outcome).toHaveProperty(
      'detail',
      expect.stringMatching(/^the TLS handshake failed \([A-Z_]+\)$/),
    )
  })

  it('fails as tls when the connection ends during the handshake', async () => {
    for (const end of [
      (socket: Socket) => socket.resetAndDestroy(),
      (socket: Socket) => socket.end(),
    ]) {
      const server = createServer(
        (socket) => void socket.on('error', () => undefined).once('data', () => end(socket)),
      ).listen(0, '127.0.0.1')
      closing.push(() => new Promise((resolve) => void server.close(() => resolve())))
      await eventually('listening', () => server.listening)
      const post = await posting()
      const { port } = server.address() as { port: number }
      expect(await post(`https://127.0.0.1:${port}/`)).toEqual({
        kind: 'unreachable',
        error: 'tls',
        detail: 'the connection ended during the TLS handshake',
      })
    }
  })

  it('ends a hanging handshake and its socket at the deadline or the connect timeout', async () => {
    const server = await closedLater(rawServer((socket) => void socket))
    const url = `https://127.0.0.1:${server.port}/`
    const slow = await posting()
    expect(await slow(url, 500)).toEqual({
      kind: 'unreachable',
      error: 'timeout',
      detail: 'no complete response within 500 ms',
    })
    const quick = await posting({ connectTimeoutMs: 500 })
    expect(await quick(url)).toEqual({
      kind: 'unreachable',
      error: 'timeout',
      detail: 'no connection within 500 ms',
    })
    await eventually('both connections end', () => server.open.size === 0)
    expect(server.connections).toBe(2)
  })
})
