/** Starts the service with the server, so that waiting deliveries do not wait for a request. */
export async function register() {
  // Next.js also compiles this file for the edge runtime. This form of `if` omits the import there.
  if (process.env.NEXT_RUNTIME === 'nodejs') {
    const { http } = await import('./lib/messaging.js')
    await http()
  }
}
