import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { dnsServer } from '../test/dns-server.js'
import { eventually } from '../test/eventually.js'
import { addressGuard } from './address-guard.js'
import { allowedAddresses } from './dial.js'
import { Fault } from './fault.js'
import { hostResolver } from './resolve-host.js'

const never = new AbortController().signal
const closing: (() => Promise<void>)[] = []
afterEach(async () => void (await Promise.all(closing.splice(0).map((close) => close()))))

async function resolving(answers: Parameters<typeof dnsServer>[0], settings?: string) {
  const dns = await dnsServer(answers)
  closing.push(dns.close)
  const options = { servers: [dns.address], ...(settings && { settingsFile: fileOf(settings) }) }
  return { dns, resolve: hostResolver(options) }
}

function fileOf(settings: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'resolve-host-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'resolv.conf')
  writeFileSync(file, settings)
  return file
}

describe('names', () => {
  it('resolve to all addresses, IPv4 first', async () => {
    const { resolve } = await resolving({
      'both.test': ['2606:4700::1111', '1.1.1.1', '1.0.0.1'],
      'six.test': ['2606:4700::1111'],
    })
    expect(await resolve('both.test', never)).toEqual(['1.1.1.1', '1.0.0.1', '2606:4700::1111'])
    expect(await resolve('six.test', never)).toEqual(['2606:4700::1111'])
  })

  it('are resolved again each time', async () => {
    const answers = { 'moving.test': ['1.1.1.1'] }
    const { resolve } = await resolving(answers)
    expect(await resolve('moving.test', never)).toEqual(['1.1.1.1'])
    answers['moving.test'] = ['127.0.0.1']
    expect(await resolve('moving.test', never)).toEqual(['127.0.0.1'])
  })

  it('that do not exist or have no address fail as dns', async () => {
    const { resolve } = await resolving({ 'empty.test': [] })
    const gone = { error: 'dns', detail: 'the name does not resolve (ENOTFOUND)' }
    await expect(resolve('gone.test', never)).rejects.toMatchObject({ outcome: gone })
    await expect(resolve('empty.test', never)).rejects.toMatchObject({
      outcome: { error: 'dns', detail: 'the name does not resolve (ENODATA)' },
    })
  })

  it('resolve through aliases, and over TCP when the response is too long for UDP', async () => {
    const many = Array.from({ length: 300 }, (_, n) => `11.0.${n >> 8}.${n & 255}`)
    const { resolve } = await resolving({
      'alias.test': { via: ['middle.test', 'end.test'], addresses: ['10.0.0.1', 'fd00::1'] },
      'long.test': { overTcp: true, addresses: [...many, '10.0.0.1'] },
    })
    expect(await resolve('alias.test', never)).toEqual(['10.0.0.1', 'fd00::1'])
    expect(await resolve('long.test', never)).toEqual([...many, '10.0.0.1'])
  })

  it('fail with the signal’s reason when it aborts', async () => {
    const { dns, resolve } = await resolving({ 'hanging.test': 'silent' })
    const aborter = new AbortController()
    const given = resolve('hanging.test', aborter.signal)
    given.catch(() => undefined)
    await eventually('both questions', () => dns.questions.length >= 2)
    const reason = new Fault('timeout', 'enough')
    aborter.abort(reason)
    await expect(given).rejects.toBe(reason)
    await expect(resolve('hanging.test', aborter.signal)).rejects.toBe(reason)
  })

  it.each(['localhost', 'LOCALHOST', 'localhost.', 'app.localhost', 'a.b.localhost.'])(
    '%s is loopback and not queried (RFC 6761)',
    async (name) => {
      const { dns, resolve } = await resolving({
        localhost: ['1.1.1.1'],
        'app.localhost': ['1.1.1.1'],
      })
      expect(await resolve(name, never)).toEqual(['127.0.0.1', '::1'])
      expect(dns.questions).toEqual([])
    },
  )

  it('need name servers that are IP addresses', () => {
    expect(() => hostResolver({ servers: ['dns.example'] })).toThrow('dns.example')
  })
})

describe('search domains', () => {
  const IN_A_POD = `nameserver 10.96.0.10
search shop.svc.cluster.local svc.cluster.local cluster.local
options ndots:5
`
  /** The names that were asked, each once. */
  const askedOf = ({ questions }: { questions: readonly string[] }): string[] => [
    ...new Set(questions.map((question) => question.split(' ')[0] ?? '')),
  ]

  it('complete the short name of a service in Kubernetes', async () => {
    const { dns, resolve } = await resolving(
      {
        'my-agent.shop.svc.cluster.local': ['10.96.1.1'],
        'other.billing.svc.cluster.local': ['10.96.2.2'],
      },
      IN_A_POD,
    )
    expect(await resolve('my-agent', never)).toEqual(['10.96.1.1'])
    expect(await resolve('other.billing', never)).toEqual(['10.96.2.2'])
    expect(askedOf(dns)).toEqual([
      'my-agent.shop.svc.cluster.local',
      'other.billing.shop.svc.cluster.local',
      'other.billing.svc.cluster.local',
    ])
  })

  it('are asked before the name itself if the name has fewer than ndots dots', async () => {
    const { dns, resolve } = await resolving({ 'hooks.example.com': ['1.1.1.1'] }, IN_A_POD)
    expect(await resolve('hooks.example.com', never)).toEqual(['1.1.1.1'])
    expect(askedOf(dns).at(-1)).toBe('hooks.example.com')
    expect(askedOf(dns)).toHaveLength(4)
  })

  it('are asked after a name with ndots dots', async () => {
    const answers = { 'hooks.example.com': ['1.1.1.1'], 'api.eu.corp.test': ['1.0.0.1'] }
    const { dns, resolve } = await resolving(answers, 'search corp.test\n')
    expect(await resolve('hooks.example.com', never)).toEqual(['1.1.1.1'])
    expect(askedOf(dns)).toEqual(['hooks.example.com'])
    expect(await resolve('api.eu', never)).toEqual(['1.0.0.1'])
  })

  it('are not asked for a name that ends with a dot', async () => {
    const { dns, resolve } = await resolving({ 'a.corp.test': ['1.1.1.1'] }, 'search corp.test')
    await expect(resolve('a.', never)).rejects.toMatchObject({ outcome: { error: 'dns' } })
    expect(askedOf(dns)).toEqual(['a'])
  })

  it.each([
    ['the last line counts', 'search old.test\ndomain corp.test. other.test', 'corp.test'],
    ['a comment is none', '# search old.test\n; domain old.test\n\tsearch corp.test', 'corp.test'],
  ])('%s', async (_, settings, domain) => {
    const { dns, resolve } = await resolving({}, settings)
    await expect(resolve('a', never)).rejects.toMatchObject({ outcome: { error: 'dns' } })
    expect(askedOf(dns)).toEqual([`a.${domain}`, 'a'])
  })

  it('take effect when the file changes', async () => {
    const settingsFile = fileOf('search old.test')
    const dns = await dnsServer({ 'a.new.test': ['1.1.1.1'] })
    closing.push(dns.close)
    const resolve = hostResolver({ servers: [dns.address], settingsFile })
    await expect(resolve('a', never)).rejects.toMatchObject({ outcome: { error: 'dns' } })
    writeFileSync(settingsFile, 'search new.test')
    expect(await resolve('a', never)).toEqual(['1.1.1.1'])
  })

  it('lead to no address that the guard does not allow', async () => {
    const { resolve } = await resolving(
      { 'meta.corp.test': ['1.1.1.1', '169.254.169.254'], 'agent.corp.test': ['10.1.0.1'] },
      'search corp.test',
    )
    const guard = addressGuard({ allowedCidrs: ['10.1.0.0/16'] })
    expect(await allowedAddresses({ guard, resolve }, 'agent', never)).toEqual(['10.1.0.1'])
    await expect(allowedAddresses({ guard, resolve }, 'meta', never)).rejects.toMatchObject({
      outcome: { error: 'address_blocked' },
    })
  })

  it('that fail do not hide the name itself, and their failure is told', async () => {
    const failing = { 'a.one.test': 'servfail', 'b.one.test': 'servfail', a: ['1.1.1.1'] } as const
    const { resolve } = await resolving(failing, 'search one.test two.test')
    expect(await resolve('a', never)).toEqual(['1.1.1.1'])
    const detail = 'the name does not resolve (ESERVFAIL)'
    await expect(resolve('b', never)).rejects.toMatchObject({ outcome: { error: 'dns', detail } })
  })

  it('that are silent leave the name itself', async () => {
    const settings = 'search one.test two.test\noptions ndots:9'
    const { resolve } = await resolving(
      { 'a.b.one.test': 'silent', 'a.b.two.test': ['10.0.0.9'], 'a.b': ['1.1.1.1'] },
      settings,
    )
    expect(await resolve('a.b', never)).toEqual(['1.1.1.1'])
  })
})
