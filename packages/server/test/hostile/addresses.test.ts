import { getServers } from 'node:dns'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { certificate } from '../../../adapter-outbound/test/certificate.js'
import { dnsServer, type DnsAnswer } from '../../../adapter-outbound/test/dns-server.js'
import { http } from '../../../adapter-outbound/test/raw-server.js'
import { realServer, type RealServer } from '../e2e/real-server.js'
import { attemptAt, moving, registered, registering, runOf, type Kind } from './calls.js'
import { HI, listenEverywhere, PUBLIC, type Everywhere } from './everywhere.js'
import { FORBIDDEN, forbiddenUrls, UNDIALLABLE } from './forbidden.js'
import { inNetworkNamespace } from './namespace.js'

inNetworkNamespace(import.meta.url, () => {
  const answers: Record<string, DnsAnswer> = {}
  const closing: (() => Promise<void>)[] = []
  let everywhere: Everywhere
  let plain: Everywhere
  let server: RealServer
  const to = (name: string): string => `https://${name}:${everywhere.port}/hook`
  const env = {
    SERVICE_WEBHOOK_RETRY_SCHEDULE: '1h',
    SERVICE_DELIVERY_TIMEOUT_MS: '3000',
    SERVICE_WEBHOOK_ALLOWED_CIDRS: '',
  }

  beforeAll(async () => {
    everywhere = await listenEverywhere('https')
    plain = await listenEverywhere('http')
    // Listens at the address of the machine's name server, which is local in the namespace.
    const dns = await dnsServer(answers, { host: getServers()[0] ?? '127.0.0.1', port: 53 })
    const folder = await mkdtemp(path.join(tmpdir(), 'hostile-'))
    const ca = path.join(folder, 'ca.pem')
    await writeFile(ca, certificate)
    server = await realServer({ env: { ...env, NODE_EXTRA_CA_CERTS: ca } })
    closing.push(everywhere.close, plain.close, dns.close, server.dispose, () =>
      rm(folder, { recursive: true }),
    )
  })
  afterAll(async () => void (await Promise.all(closing.map((close) => close()))))
  beforeEach(() => {
    answers['receiver.test'] = [PUBLIC]
    everywhere.answer = HI
    everywhere.dialled.splice(0)
    plain.dialled.splice(0)
  })

  it('the listener sees a connection to every forbidden address that the kernel allows', async () => {
    for (const address of FORBIDDEN.filter((one) => !UNDIALLABLE.includes(one))) {
      const socket = connect(everywhere.port, address)
      await once(socket, 'connect')
      socket.destroy()
    }
    await expect.poll(() => everywhere.leaks().length).toBe(FORBIDDEN.length - UNDIALLABLE.length)
  })

  describe.each<Kind>(['webhook', 'agent'])('the %s (row S)', (kind) => {
    /** Sends one request and returns its outcome. */
    let request: () => Promise<unknown>
    const delivered =
      kind === 'webhook'
        ? { outcome: 'accepted', statusCode: 200 }
        : { state: 'responded', response: 'hi' }
    const failed = (error: string) =>
      kind === 'webhook'
        ? { outcome: 'unreachable', error }
        : {
            state: 'failed',
            error: {
              message: expect.stringContaining(
                error === 'timeout' ? 'did not answer' : `(${error})`,
              ) as string,
            },
          }
    const refused = (statusCode: number) =>
      kind === 'webhook'
        ? { outcome: 'refused', statusCode }
        : { state: 'failed', error: { message: `the runtime answered ${statusCode}` } }

    const requestTo = async (name: string): Promise<() => Promise<unknown>> => {
      const id = await registered(server, kind, to(name))
      return kind === 'webhook' ? () => attemptAt(server, id) : () => runOf(server, id)
    }

    beforeAll(async () => {
      answers['receiver.test'] = [PUBLIC]
      request = await requestTo('receiver.test')
    })

    it('is reachable at a public address', async () => {
      expect(await request()).toMatchObject(delivered)
      expect([...new Set(everywhere.dialled)]).toEqual([PUBLIC])
    })

    it('cannot be registered at or moved to a forbidden or ambiguous URL', async () => {
      const accepted: string[] = []
      const other = await registered(server, kind, to('receiver.test'))
      // Only a stopped agent can change its runtime.
      if (kind === 'agent') await server.api('POST', `/v1/agents/${other}/stop`)
      expect(await moving(server, kind, other, to('receiver.test'))).toBe(200)
      for (const url of forbiddenUrls(everywhere.port)) {
        if ((await registering(server, kind, url)) !== 400) accepted.push(url)
        if ((await moving(server, kind, other, url)) !== 400) accepted.push(`${url} by PATCH`)
      }
      expect(accepted).toEqual([])
      expect(everywhere.dialled).toEqual([])
    })

    it('cannot be registered under a name with a forbidden address', async () => {
      const accepted: unknown[] = []
      for (const address of FORBIDDEN) {
        const long = Array.from({ length: 300 }, () => PUBLIC)
        const ways: DnsAnswer[] = [
          [address],
          [PUBLIC, address, '2606:4700::1'],
          { via: ['a.test', 'b.test'], addresses: [address] },
        ]
        for (const answer of [...ways, { overTcp: true, addresses: [...long, address] }]) {
          answers['inside.test'] = answer
          if ((await registering(server, kind, to('inside.test'))) !== 400) accepted.push(answer)
        }
      }
      expect(accepted).toEqual([])
      expect(everywhere.dialled).toEqual([])
    })

    it('is not reached at a forbidden address after its name has changed (DNS rebinding)', async () => {
      for (const address of FORBIDDEN) {
        for (const answer of [[address], [PUBLIC, address]]) {
          answers['receiver.test'] = answer
          expect(await request(), String(answer)).toMatchObject(failed('address_blocked'))
        }
      }
      expect(everywhere.dialled).toEqual([])
      answers['receiver.test'] = [PUBLIC]
      expect(await request()).toMatchObject(delivered)
    })

    it('is treated the same under other spellings of its name', async () => {
      for (const name of [
        'RECEIVER.Test',
        'receiver.test.',
        'receiver%2Etest',
        'ｒｅｃｅｉｖｅｒ。test',
      ]) {
        answers['receiver.test'] = [PUBLIC]
        const requestIt = await requestTo(name)
        expect(await requestIt(), name).toMatchObject(delivered)
        answers['receiver.test'] = ['10.0.0.1']
        expect(await requestIt(), name).toMatchObject(failed('address_blocked'))
      }
      expect(everywhere.leaks()).toEqual([])
    })

    it('is reached only at public addresses, even if its name server misbehaves', async () => {
      const many = Array.from({ length: 500 }, (_, n) => `11.1.${n >> 8}.${n & 255}`)
      const tricks: [DnsAnswer, unknown][] = [
        ['nxdomain', failed('dns')],
        [[], failed('dns')],
        ['silent', failed('timeout')],
        [{ via: ['a.test', 'b.test', 'c.test'], addresses: [PUBLIC] }, delivered],
        [
          { via: ['a.test', 'b.test', 'c.test'], addresses: ['10.0.0.1'] },
          failed('address_blocked'),
        ],
        [{ overTcp: true, addresses: many }, delivered],
        [{ overTcp: true, addresses: [...many, '10.0.0.1'] }, failed('address_blocked')],
      ]
      for (const [answer, outcome] of tricks) {
        answers['receiver.test'] = answer
        expect(await request(), JSON.stringify(answer).slice(0, 80)).toMatchObject(
          outcome as object,
        )
      }
      expect(everywhere.leaks()).toEqual([])
    })

    it('cannot redirect requests', async () => {
      const targets = ['10.0.0.1', '[::1]', '169.254.169.254', PUBLIC].flatMap((host) => [
        `https://${host}:${everywhere.port}/in`,
        `http://${host}:${plain.port}/in`,
      ])
      const before = everywhere.posts()
      for (const status of [301, 302, 303, 307, 308]) {
        for (const target of targets) {
          everywhere.answer = http(
            `${status} Elsewhere`,
            '',
            'connection: close',
            `location: ${target}`,
          )
          const outcome = await request()
          expect(outcome, `${target} ${JSON.stringify(outcome)}`).toMatchObject(refused(status))
        }
      }
      expect([...new Set(everywhere.dialled)]).toEqual([PUBLIC])
      expect(everywhere.posts() - before).toBe(5 * targets.length)
      expect(plain.dialled).toEqual([])
    })
  })

  it('unresolved names can be registered, and a slow name server delays no other request', async () => {
    answers['hanging.test'] = 'silent'
    const hanging = Promise.all([
      registering(server, 'webhook', to('hanging.test')),
      registering(server, 'agent', to('hanging.test')),
    ])
    expect(await registering(server, 'webhook', to('receiver.test'))).toBe(201)
    expect(await registering(server, 'webhook', to('gone.test'))).toBe(201)
    expect(await hanging).toEqual([201, 201])
  })

  const plainUrl = (host: string): string => `http://${host}:${plain.port}/hook`
  const whereTo = {
    loopback: '127.0.0.1',
    'an allowed network': '10.1.2.3',
    'another network': '10.2.0.1',
    'a public address': PUBLIC,
  }
  it.each([
    ['start', '', []],
    ['start', '10.1.0.0/16', ['an allowed network']],
    ['start', '127.0.0.0/8', ['loopback']],
    ['dev', '', ['loopback', 'a public address']],
    ['dev', '10.1.0.0/16', ['loopback', 'an allowed network', 'a public address']],
  ] as const)(
    '`%s` with SERVICE_WEBHOOK_ALLOWED_CIDRS=%s sends http: only to %j',
    async (command, cidrs, allowed) => {
      const other = await realServer({
        command,
        env: { ...env, SERVICE_WEBHOOK_ALLOWED_CIDRS: cidrs },
      })
      closing.push(other.dispose)
      for (const [where, host] of Object.entries(whereTo)) {
        const isAllowed = (allowed as readonly string[]).includes(where)
        for (const kind of ['webhook', 'agent'] as const)
          expect(await registering(other, kind, plainUrl(host)), `${kind} at ${where}`).toBe(
            isAllowed ? 201 : 400,
          )
        if (isAllowed)
          expect(
            await attemptAt(other, await registered(other, 'webhook', plainUrl(host))),
          ).toMatchObject({ statusCode: 200 })
      }
      expect([...new Set(plain.dialled)].toSorted()).toEqual(
        allowed.map((where) => whereTo[where]).toSorted(),
      )
    },
  )
})
