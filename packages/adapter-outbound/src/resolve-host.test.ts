import { afterEach, describe, expect, it } from 'vitest'
import { dnsServer } from '../test/dns-server.js'
import { eventually } from '../test/eventually.js'
import { Fault } from './fault.js'
import { hostResolver } from './resolve-host.js'

const never = new AbortController().signal
const closing: (() => Promise<void>)[] = []
afterEach(async () => void (await Promise.all(closing.splice(0).map((close) => close()))))

async function resolving(answers: Parameters<typeof dnsServer>[0]) {
  const dns = await dnsServer(answers)
  closing.push(dns.close)
  return { dns, resolve: hostResolver({ servers: [dns.address] }) }
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
