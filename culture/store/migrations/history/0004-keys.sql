-- Who may read what was said in a public channel is not to learn from it what key the channel had.
UPDATE events SET is_public = 0 WHERE command = 'MODE' AND json_extract(params, '$[0]') GLOB '*k*';
