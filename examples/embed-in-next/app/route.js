export const GET = () => new Response('a page of the host')
