import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { expect, it, onTestFinished } from 'vitest'
import { certificate, certificateKey } from '../test/certificate.js'
import { dnsServer } from '../test/dns-server.js'
import { proxyOn } from '../test/proxy.js'
import { http, rawServer, rawTlsServer } from '../test/raw-server.js'
import { addressGuard } from './address-guard.js'
import { outboundHttp, type OutboundOptions } from './outbound-http.js'

async function posting(proxy: string, options: Partial<OutboundOptions> = {}) {
  const dns = await dnsServer({
    'receiver.test': ['127.0.0.1'],
    'inside.test': ['10.0.0.8'],
    'half.test': ['127.0.0.2', '127.0.0.1'],
  })
  const sender = outboundHttp({
    guard: addressGuard({ allowedCidrs: ['127.0.0.1/32', '127.0.0.2/32'], allowHttp: true }),
    dnsServers: [dns.address],
    proxy,
    ...options,
  })
  onTestFinished(async () => {
    await sender.close()
    await dns.close()
  })
  return (url: string, deadlineMs = 60_000) =>
    sender.send({ method: 'POST', url, headers: {}, body: '{}', maxBodyBytes: 100, deadlineMs })
}

const receiver = async (server: ReturnType<typeof rawServer>) => {
  const started = await server
  onTestFinished(() => started.close())
  return started
}
const ok = { kind: 'response', statusCode: 200 }

it('gives the proxy the checked address and the credentials, and reuses the tunnel', async () => {
  const server = await receiver(rawServer((socket) => socket.write(http('200 OK'))))
  const { asked, at } = await proxyOn(createServer())
  const post = await posting(`http://user:p%40ss@${at}`)
  for (let n = 0; n < 2; n++)
    expect(await post(`http://receiver.test:${server.port}/hook`)).toMatchObject(ok)
  const authorization = `Basic ${Buffer.from('user:p@ss').toString('base64')}`
  expect(asked).toEqual([[`127.0.0.1:${server.port}`, authorization]])
  expect(server.requests[0]).toContain(`host: receiver.test:${server.port}\r\n`)
  expect(server.requests[0]).not.toMatch(/proxy-authorization/i)
})

it('encrypts through the tunnel, and checks the name of the receiver', async () => {
  const server = await receiver(rawTlsServer((socket) => socket.write(http('200 OK'))))
  const { at } = await proxyOn(createServer())
  const post = await posting(`http://${at}`, { ca: certificate })
  expect(await post(`https://receiver.test:${server.port}/`)).toMatchObject(ok)
  expect(await post(`https://half.test:${server.port}/`)).toMatchObject({ error: 'tls' })
})

it('asks for no address that the guard forbids', async () => {
  const { asked, at } = await proxyOn(createServer())
  const post = await posting(`http://${at}`)
  expect(await post('https://inside.test/')).toMatchObject({ error: 'address_blocked' })
  expect(asked).toEqual([])
})

it('tries the next address if the proxy cannot reach one', async () => {
  const server = await receiver(rawServer((socket) => socket.write(http('200 OK'))))
  const { asked, at } = await proxyOn(createServer())
  const post = await posting(`http://${at}`)
  expect(await post(`http://half.test:${server.port}/`)).toMatchObject(ok)
  expect(asked.map(([address]) => address)).toEqual([
    `127.0.0.2:${server.port}`,
    `127.0.0.1:${server.port}`,
  ])
})

it('reports what the proxy answered, or that it is away', async () => {
  const { at } = await proxyOn(createServer(), '407 Proxy Authentication Required')
  const refused = await posting(`http://${at}`)
  expect(await refused('http://receiver.test/')).toEqual({
    kind: 'unreachable',
    error: 'connect',
    detail: 'the proxy answered 407',
  })
  const away = await posting('http://127.0.0.1:9')
  expect(await away('http://receiver.test/')).toEqual({
    kind: 'unreachable',
    error: 'connect',
    detail: 'no connection to the proxy (ECONNREFUSED)',
  })
})

it('ends with the deadline if the proxy does not answer', async () => {
  const silent = await receiver(rawServer(() => undefined))
  const post = await posting(`http://127.0.0.1:${silent.port}`)
  expect(await post('http://receiver.test/', 200)).toMatchObject({ error: 'timeout' })
  await expect.poll(() => silent.open.size).toBe(0)
})

it('does not trust a proxy with an unknown certificate', async () => {
  const { asked, at } = await proxyOn(createTlsServer({ cert: certificate, key: certificateKey }))
  const post = await posting(`https://${at}`)
  expect(await post('http://receiver.test/')).toMatchObject({
    error: 'connect',
    detail: 'no connection to the proxy (DEPTH_ZERO_SELF_SIGNED_CERT)',
  })
  expect(asked).toEqual([])
})

it.each(['proxy:3128', 'socks5://proxy:1080', 'http://proxy:3128/path', ''])(
  'refuses %j as a proxy',
  (proxy) => {
    expect(() => outboundHttp({ guard: addressGuard({}), proxy })).toThrow('a proxy must be a URL')
  },
)
