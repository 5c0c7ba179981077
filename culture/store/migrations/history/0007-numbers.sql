-- What was pruned left its number to what came later, which the index took for seen. It is made anew, and
-- no number that it may have known is given again.
INSERT INTO words (words) VALUES ('delete-all');
INSERT INTO marks SELECT 'numbers', 0, position FROM marks WHERE name = 'words'
ON CONFLICT DO UPDATE SET position = max(position, excluded.position);
DELETE FROM marks WHERE name = 'words';
