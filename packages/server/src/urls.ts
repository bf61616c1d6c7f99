import { isPostgresUrl } from '@org/agent-messaging-node/wiring'
import { splitPostgresUrl } from '@org/agent-messaging-adapter-postgres/url'

/** The database as output can show it: a URL without its password and its parameters. */
export function shownDatabase(database: string) {
  if (!isPostgresUrl(database)) return database
  const urls = splitPostgresUrl(database).urls.map((url) => new URL(url))
  const [{ protocol, username, pathname } = new URL(database)] = urls
  const hosts = urls.map(({ host }) => host).join(',')
  return `${protocol}//${username === '' ? '' : `${username}@`}${hosts}${pathname}`
}

/** The URL at which this machine reaches a server that listens on this host and port. */
export function ownUrl(host: string, port: number) {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}
