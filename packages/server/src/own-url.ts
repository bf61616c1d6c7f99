/** Where a server that listens on this host and port is reached from this machine: nobody can connect to "all addresses". */
export function ownUrl(host: string, port: number): string {
  const name = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`
}
